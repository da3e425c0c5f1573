"""Parts of a server on their own: each gives JSON that is compared, and facts that are also expected.

They run in the harness's environment, in a world of machine/world.py with real numbers.
"""
