"""What we add or change: whole files, structural edits, patches, TOML and anchored edits."""
