"""Tags that the templates of these pages load."""
