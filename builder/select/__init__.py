"""Which upstream paths stay, and by which rule."""
