"""Acting on clusters: request → choose lever → arm → prove → act → verify → audit.

This is the only package that writes to Kubernetes. A request is a row in the database (outbox). A
sweeper finds due rows that no worker has claimed, and Redis only wakes workers. Pages and the API call
`service`; everything else runs in the act worker and never waits for a person.

Every change of an action's state raises `Cluster.data_version` in the same transaction, so waiting
pages and the API learn of it at once.
"""
