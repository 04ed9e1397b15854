"""What granian serves: it listens at once, and `gangboard.asgi` is imported meanwhile."""

from importlib import import_module

from gangboard.serving.deferred import DeferredApplication

application = DeferredApplication(lambda: import_module("gangboard.asgi").application)
