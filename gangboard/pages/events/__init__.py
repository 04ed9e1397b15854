"""What changed: verdicts, deletions and ended actions in one order, for robots and for people."""
