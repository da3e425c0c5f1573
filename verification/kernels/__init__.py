"""sgl_kernel's operators in plain torch: reference numbers, or only the shapes of the results.

Both trees run on the same implementations, so what matters is that each is a function of its inputs.
"""
