"""Advice: changes that would make a gang fit. Each change is tried before it is given, and states its cost."""
