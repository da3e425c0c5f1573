"""`python -m builder VERB`."""

from builder.cli import main

if __name__ == "__main__":
    main()
