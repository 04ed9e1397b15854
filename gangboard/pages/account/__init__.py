"""My account: my roles, my tokens, my views of the Board."""
