"""One gang: why it waits, its Jobs and pods, its history, and what can be done."""
