"""Holds: the Jobs that are held in the clusters, by whom, and whether each Hold is in force."""
