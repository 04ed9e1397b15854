"""HTML: request to read model to template. May import readmodels."""
