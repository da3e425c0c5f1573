"""What is proved on the output before anything is written: one gate per file, findings as problems.

Every gate is a function of the tree before and after; a finding that upstream has too is no finding.
"""
