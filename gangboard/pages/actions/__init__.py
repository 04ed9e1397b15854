"""Actions: the record, each action with its requests, and the place to ask for one by the API."""
