"""Finds and removes the definitions, imports and constants that nothing uses any more."""
