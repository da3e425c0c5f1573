"""Rewrites the syntax tree of one file where the facts decide something."""
