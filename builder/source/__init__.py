"""Python source as bytes with edits: what to change is said on the syntax tree, and done on the text."""
