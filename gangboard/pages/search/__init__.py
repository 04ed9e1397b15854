"""The search over everything, which every page has at the top."""
