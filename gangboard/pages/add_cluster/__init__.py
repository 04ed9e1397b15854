"""Adding, renewing and removing clusters: for admins of everything."""
