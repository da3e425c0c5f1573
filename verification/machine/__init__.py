"""A machine with NVIDIA GPUs, pretended where there is none, that records what is asked of it."""
