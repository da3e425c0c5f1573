"""C++, CUDA and CMake text: scanned, cut, and kept in step with the files that left."""
