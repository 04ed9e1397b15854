"""What a person sees who has just cloned the repository."""
