"""Clusters: how gangboard reads each of them, and the pages with which an admin adds and changes them."""
