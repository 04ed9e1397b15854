"""Developer tools outside the product: benchmarks, and generators of docs tables and of the client's schema."""
