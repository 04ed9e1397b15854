"""Doors for operators: management commands that parse, call one function, print."""
