"""The output files of a build, as pure functions from values to bytes, and one module that writes them."""
