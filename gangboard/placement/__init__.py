"""Pure arithmetic: what fits where, what is free, what would make it fit. May import domain."""
