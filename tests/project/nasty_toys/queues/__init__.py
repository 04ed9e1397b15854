"""Toys that are as strange as a kind can be."""
