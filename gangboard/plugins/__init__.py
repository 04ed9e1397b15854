"""Base classes of kinds, levers, grouping APIs and admission systems, rules, and the registry that finds their members."""
