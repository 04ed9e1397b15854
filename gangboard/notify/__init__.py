"""Messages to people and programs. A rule chooses changes, and a channel is where its messages go."""
