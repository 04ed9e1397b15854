"""What may be done to a gang, and what comes of it."""
