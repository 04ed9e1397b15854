"""gangboard: which gangs are whole, which wait and why, over all clusters."""

__version__ = "0.1.0"
