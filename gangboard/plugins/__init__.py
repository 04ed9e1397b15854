"""What a kind, a lever, a grouping API, an admission system and a reason must offer, and the registry that finds them."""
