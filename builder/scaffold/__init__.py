"""A first manifest for a project, from its tree: it keeps everything, and says what may be decided next."""
