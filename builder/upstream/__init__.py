"""From a name to a tree: what `UPSTREAM` means, where it is got from, and the bytes of its blobs."""
