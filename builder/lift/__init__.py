"""Moving the pin: what a newer upstream breaks and brings, which commit did it, and what to do about it."""
