"""Check: would a gang run, where, and what would it wait for, before anybody creates it."""
