"""REST: request to read model to JSON. May import readmodels."""
