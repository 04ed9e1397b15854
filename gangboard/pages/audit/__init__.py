"""The audit by the API. Its page is still in `web.audit`."""
