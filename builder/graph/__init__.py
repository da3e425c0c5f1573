"""The modules of a tree: what each file imports and defines, what resolves, what reaches what."""
