"""The command line client of gangboard, for any cluster that a gangboard server watches."""

__version__ = "0.1.0"
