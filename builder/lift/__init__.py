"""Moves the pin: reports what a newer upstream breaks and adds, by which commit, and proposes what to do."""
