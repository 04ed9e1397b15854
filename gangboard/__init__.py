"""gangboard shows which gangs run completely and which wait, and why, for all clusters."""

__version__ = "0.1.0"
