"""The modules of a tree: what each imports and defines, which names resolve, which modules reach which."""
