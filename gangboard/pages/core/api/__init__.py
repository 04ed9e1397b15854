"""The REST API: errors, fields, lists, parameters and entity tags that all operations share."""
