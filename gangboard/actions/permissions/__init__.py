"""What gangboard asks of a cluster: two service accounts, their roles, the Hold, the actor's limits.

Pure: a `Wanted` enters, Kubernetes objects and YAML come out. What is read and which levers there are
comes from the registries, so a new kind gets its lines by itself. `manifests.manifests` is the way in.
"""
