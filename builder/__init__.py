"""Build a DeepSeek-only, CUDA-only SGLang distribution from a pinned upstream commit."""

__version__ = "0.1.0"
