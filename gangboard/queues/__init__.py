"""Admission systems, one file or folder each: entries, queues with quotas, and effects on owners.

Each has a subclass of `plugins.queue_system.QueueSystem`, which the registry discovers. They do not import each other.
"""
