"""The static checks of the output before anything is written: one gate per file, findings as problems.

A gate compares the output with upstream; what upstream has too is no finding.
"""
