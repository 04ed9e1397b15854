"""Capacity: the nodes by pool, their free accelerators, and the pods that fit on them now."""
