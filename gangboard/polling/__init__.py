"""The order of the read side: lease, list and watch, decode, upsert, assess.

May import kube, store, diagnosis, decode and the registries.
"""
