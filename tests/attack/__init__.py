"""Attacks on a gangboard that is started for them: `make attack`, or `python -m tests.attack [NAME ...]`.

Each file in `attacks/` is one. They are bounded in time and in requests, and know no address but that
of their own loopback processes.
"""
