"""The page of a node, the Jobs on it, and `nodes/`."""
