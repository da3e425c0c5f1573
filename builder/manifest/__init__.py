"""The manifest: what the distribution is, as written in manifest.yaml."""
