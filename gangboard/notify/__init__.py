"""Messages: rules say what is worth one, channels where it goes; each is sent until it arrived."""
