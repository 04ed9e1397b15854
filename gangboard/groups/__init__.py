"""Grouping APIs, one file or folder each: the groups, how pods name them, and the reasons of the scheduler.

Each file has a subclass of `plugins.grouping_api.GroupingAPI`, which the registry finds. Files do not import each other.
"""
