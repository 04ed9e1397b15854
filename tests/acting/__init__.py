"""Suspend and resume on real control planes, through the REST API and the pages of a whole gangboard."""
