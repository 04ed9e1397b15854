"""Reasons: what keeps the most gangs and accelerators from running, now and over time."""
