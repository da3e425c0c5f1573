"""Partial evaluation of Python source under declared facts, and the cascade of what is absent."""
