"""One file per grouping API: its groups, how pods name them, and the reasons of its scheduler.

Each file has a subclass of `plugins.grouping_api.GroupingAPI`, which the registry finds. Files do not import each other.
"""
