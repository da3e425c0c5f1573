"""Packages that call GPU kernels, as far as a run on this machine needs them."""
