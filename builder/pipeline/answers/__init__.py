"""Answers to "why is this in the output, or not?": every reading of a word, each as a value."""
