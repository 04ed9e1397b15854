"""One file per kind of object a person makes: what to list and what its own words mean.

Each file offers a constant OWNER (domain.registry.OwnerKind) and is found by being here. Files do
not import each other. May import domain and decode.
"""
