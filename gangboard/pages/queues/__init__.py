"""Queues: quota, how much of it is used, borrowed and lent, and which gangs wait in which order."""
