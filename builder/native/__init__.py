"""C++, CUDA and CMake text: scanned, edited, and kept consistent with the removed files."""
