"""Answers questions about files from their text, so that few files are parsed."""
