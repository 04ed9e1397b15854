"""Sentences about members that wait for a node, from the arithmetic and from the scheduler's text.

The scheduler decides that they wait, and the arithmetic names the cause. Rules share these sentences, because
rules do not import each other.
"""
