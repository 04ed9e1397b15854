"""One gang: its verdict, its Jobs and pods, its history and its next steps."""
