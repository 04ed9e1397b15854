"""Check: forecasts for gangs that do not exist yet, in each cluster."""
