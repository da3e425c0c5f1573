"""What gates, pipeline and reports ask of a tree: its index, its projects, what was removed from it."""
