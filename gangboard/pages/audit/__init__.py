"""The audit: requests, refusals, sign-ins, changes of settings and exports. Lines are never changed."""
