"""The ASGI application for granian: Django behind thread pools that no request can block (see `serving`)."""

import gc
import os
import resource

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from gangboard import env
from gangboard.failures import exit_on_known_errors
from gangboard.logs import get_logger
from gangboard.serving.application import Application
from gangboard.serving.request import LARGEST_MANIFESTS
from gangboard.serving.thread_pools import ThreadPool
from gangboard.serving.web_server import end_stuck_connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gangboard.settings")
with exit_on_known_errors():
    _django = get_wsgi_application()

from gangboard.database_limits import limit_web  # needs the settings
from gangboard.pages.core.middleware.headers import HEADERS

for _sentence in env.unknown_variable_warnings():
    get_logger(__name__).warning(_sentence)

limit_web(settings.DATABASES["default"], most=settings.DATABASE_CONNECTIONS)

LIVE_THREADS = 400
"""Each page that waits for a change holds a sleeping thread without a connection; see GANGBOARD_WAITERS."""
EVENT_THREADS = 320
"""Each call of `events/` that waits holds a sleeping thread without a connection; at most 300 wait
(`pages.events.waiting`). At most three at a time use the database, like calls of the API."""
PAGE_THREADS = 40
"""Few, because each holds a connection to the database while it works. 20 may wait for a password to be
looked at (`pages.core.password_throttle`), and 4 for the readers of exports (`pages.core.exports`)."""
API_THREADS = 3
"""While one waits for the database, another one computes. More would only take connections and CPU time from
pages."""
REQUESTS = 1_000
"""Maximum number of open requests of each kind. More would only delay all of them."""
CHECK_THREADS = 40
"""Each call of `checks/` that waits for poll workers holds a sleeping thread without a connection."""
PAGE_PATIENCE = 20.0
"""Seconds for which a page waits for a thread."""
API_PATIENCE = 50.0
"""Seconds for which an API call waits for a thread. A script may wait longer than a person, and a proxy gives
up after 60."""
PROBE_SECONDS = 3.0
"""For each probe, because the prober gives up after a few seconds."""
PROBE_REQUESTS = 200
METRICS_SECONDS = 9.0
"""Prometheus gives up after ten seconds."""
STUCK_SECONDS = 10.0
OPEN_FILES = 8_192
"""More than granian's connections (see `serving.web_server`), databases and files together."""

application = Application(
    _django,
    default_pool=ThreadPool(
        "page", threads=PAGE_THREADS, max_requests=REQUESTS, queue_seconds=PAGE_PATIENCE
    ),
    pools={
        "/live/": ThreadPool(
            "live", threads=LIVE_THREADS, max_requests=REQUESTS, queue_seconds=PAGE_PATIENCE
        ),
        "/api/v1/events/": ThreadPool(
            "events", threads=EVENT_THREADS, max_requests=REQUESTS, queue_seconds=API_PATIENCE
        ),
        "/api/v1/checks/": ThreadPool(
            "checks", threads=CHECK_THREADS, max_requests=REQUESTS, queue_seconds=API_PATIENCE
        ),
        "/api/": ThreadPool(
            "api", threads=API_THREADS, max_requests=REQUESTS, queue_seconds=API_PATIENCE
        ),
        "/healthz": ThreadPool(
            "health", threads=1, max_requests=PROBE_REQUESTS, answer_seconds=PROBE_SECONDS
        ),
        # It asks the database, which can hang: two threads hang with it, and the probe says no.
        "/readyz": ThreadPool(
            "ready", threads=2, max_requests=PROBE_REQUESTS, answer_seconds=PROBE_SECONDS
        ),
        # One at a time, so that scrapers take at most one thread's time from the pages.
        "/metrics": ThreadPool(
            "metrics", threads=1, max_requests=PROBE_REQUESTS, answer_seconds=METRICS_SECONDS
        ),
    },
    headers=HEADERS,
    on_first_request=lambda: end_stuck_connections(STUCK_SECONDS),
    largest_bodies={"/check/": LARGEST_MANIFESTS, "/api/v1/checks": LARGEST_MANIFESTS},
)

_soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
if _soft != resource.RLIM_INFINITY and _soft < OPEN_FILES:
    _most = OPEN_FILES if _hard == resource.RLIM_INFINITY else min(OPEN_FILES, _hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_most, _hard))

# A full garbage collection stops all threads: half a second with 100 open pages and busy cores,
# and then every page asks at once. All objects that are loaded now (the URL configuration loads
# all pages) live forever, so they are frozen. Collections of the young generations find the
# garbage of requests.
_ = get_resolver().url_patterns
gc.collect()
gc.freeze()
