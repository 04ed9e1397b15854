"""The Django app: tables, constraints, bulk writes, leases, retention and permissions of viewers.

The package makes no decisions. It may import `domain` and Django.
"""
