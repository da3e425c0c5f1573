"""Build a distribution with a part of a Python project, from a pinned upstream commit and a manifest."""

__version__ = "0.1.0"
