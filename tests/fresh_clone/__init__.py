"""The experience of a person who has just cloned the repository."""
