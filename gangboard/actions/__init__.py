"""Acting on clusters: request → choose lever → arm → prove → act → verify → audit.

The only room that writes to Kubernetes. The database is the queue of record: a request is a row
(outbox), a sweeper finds due rows that no worker has claimed, and Redis only wakes workers. `service` serves
pages and API; everything else runs in the act worker. May import kube, decode, store, diagnosis and
the registries. Nothing here asks a person anything.

Every change of an action's state raises `Cluster.data_version` in the same transaction, as every
change that a page could show does: so waiting pages and the API learn of it at once.
"""
