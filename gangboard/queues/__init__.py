"""One file per admission system: its entries, its queues with their quotas, and what it does with owners.

Each file has a subclass of `plugins.queue_system.QueueSystem`, which the registry finds. Files do not import each other.
"""
