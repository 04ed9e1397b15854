"""One query set to one printable dataclass; every function takes `viewer=`.

May import store, domain, and the policy of diagnosis.
"""
