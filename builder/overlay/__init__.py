"""Overlays: whole files, patches, and structural, TOML and anchored edits."""
