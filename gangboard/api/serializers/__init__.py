"""JSON of the API, field by field: one module for each subject."""
