"""For developers, and no part of the product: benchmarks, and what makes the tables of the docs and of the client."""
