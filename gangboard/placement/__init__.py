"""Placement arithmetic: whether gangs fit, free capacity, and changes that would make a gang fit."""
