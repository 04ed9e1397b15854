"""Base classes of kinds, levers, grouping APIs, admission systems and rules, and the registry of their members."""
