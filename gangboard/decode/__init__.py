"""Decoders of objects that all kinds share, such as pods, nodes, events and quantities.

They decode bytes to structs with the fields that gangboard reads, and structs to domain values. A bad object becomes a
problem with its name instead of an exception. This package may import `domain` and msgspec.
"""
