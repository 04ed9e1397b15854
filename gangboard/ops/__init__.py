"""Interfaces for operators: management commands that parse, call one function, and print."""
