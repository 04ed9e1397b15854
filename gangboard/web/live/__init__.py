"""Open pages that stay up to date: what waits, what is shared, and what is sent to them."""
