"""Messages: channels, rules, and what became of each message."""
