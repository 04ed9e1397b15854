"""The audit: requests, refusals, sign-ins, changes of settings and exports. Its lines never change."""
