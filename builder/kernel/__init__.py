"""The published kernel wheel, repacked: for people who do not compile."""
