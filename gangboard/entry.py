"""The application that granian serves. It accepts requests at once and imports `gangboard.asgi` meanwhile."""

from importlib import import_module

from gangboard.serving.application import DeferredApplication

application = DeferredApplication(lambda: import_module("gangboard.asgi").application)
