"""The feed of changes: verdicts, deletions and ended actions in one order, for programs and for people."""
