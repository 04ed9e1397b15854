"""Bytes to narrow structs for shared objects (pod, node, event, job, quantities).

A bad object becomes a named problem, never an exception out. May import domain and msgspec.
"""
