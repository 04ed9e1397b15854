"""Django finds commands by this folder."""
