"""Repacks the published kernel wheel for users who do not compile."""
