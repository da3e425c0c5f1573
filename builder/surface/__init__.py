"""The public surface of a tree: flags, routes, environment variables, registries, console scripts."""
