"""`python -m builder VERB`."""

if __name__ == "__main__":
    try:
        from builder.cli import main
    except KeyboardInterrupt:  # before anything was begun
        raise SystemExit(130) from None
    main()
