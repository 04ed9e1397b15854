"""The Board: all gangs as one list, with counts by health."""
