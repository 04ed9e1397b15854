"""gangboard: which gangs are whole, which wait and why, over all clusters."""
