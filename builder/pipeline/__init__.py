"""The pipeline: `cut.py` reads as its stages, `verify.py` runs the gates, `build.py` assembles the output."""
