"""`/metrics`: what Prometheus reads. Figures of the whole installation; no namespace, no name of an object."""
