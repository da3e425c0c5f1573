"""Proof that the emitted distribution behaves as upstream does. Never shipped.

`checks` and everything beside it needs only the builder's own dependencies. `probes`, `machine`,
`kernels`, `libraries` and `models` run in the harness's own environment (`requirements.txt`), in one
process for each tree, and import SGLang from the tree that they are given.
"""
