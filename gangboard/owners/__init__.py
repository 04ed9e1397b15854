"""Kinds of objects that people make: a file each, with a subclass of `OwnerKind`.

The registry finds it by the folder (docs/adding-a-kind.md). Files do not import each other.
"""
