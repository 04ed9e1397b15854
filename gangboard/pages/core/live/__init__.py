"""Open pages that stay up to date: waiting requests, their notifier, the shared cache and the fragments that are sent."""
