"""Owner kinds: one file or folder per kind, each with a subclass of `OwnerKind`.

The registry discovers them by the folder (docs/adding-a-kind.md). Kinds do not import each other.
"""
