"""Middleware of the pages: access log, headers, static files and time zone."""
