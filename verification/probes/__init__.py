"""What runs in the harness's environment, in one process for one tree; each writes one JSON file."""
