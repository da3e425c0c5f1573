"""Questions of gates, pipeline and reports about a tree: its index, its projects, what was removed."""
