"""Manifests gangboard needs in a cluster: two service accounts, their roles, the Hold CRD, and the actor's policies.

The functions are pure: they take a `PermissionOptions` and return Kubernetes objects and YAML. The registry supplies
kinds and levers, so a new kind is included automatically. Begin with `manifests.manifests`.
"""
