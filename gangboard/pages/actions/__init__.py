"""Actions: the record, each action with its requests, and the API that requests one."""
