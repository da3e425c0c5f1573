"""Lists what this distribution leaves out: `python -m sglang.removed_features`."""

from sglang.srt.removed_features import listing

if __name__ == "__main__":
    print(listing())
