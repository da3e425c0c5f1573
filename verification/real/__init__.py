"""Servers with real kernels on a machine with NVIDIA GPUs: upstream's tree against the emitted one.

Nothing is pretended here but packages that neither tree needs for DeepSeek and that the machine lacks.
"""
