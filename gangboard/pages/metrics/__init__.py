"""`/metrics` for Prometheus: figures of the whole installation, without names of objects."""
