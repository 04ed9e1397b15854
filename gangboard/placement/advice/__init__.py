"""Changes that would make a gang fit. Each was tried before it is given, and states its cost."""
