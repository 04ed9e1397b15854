"""The Django app: tables, constraints, bulk writes, leases, retention, who may see what.

No decisions. May import domain and Django.
"""
