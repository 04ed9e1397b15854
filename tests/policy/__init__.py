"""Policy of actions on a gang, and their consequences."""
