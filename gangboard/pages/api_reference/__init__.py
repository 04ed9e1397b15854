"""The API reference: each call with its parameters, answers and fields, read from the OpenAPI document."""
