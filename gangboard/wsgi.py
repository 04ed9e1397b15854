"""The WSGI entry that granian serves."""

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gangboard.settings")
application = get_wsgi_application()

# A full collection stops all threads: half a second where 100 pages are open and both cores are
# busy, and then every page asks at once. What is loaded now (the addresses load all pages) stays for
# good and need not be looked through; what requests leave is found by the collections of the young.
_ = get_resolver().url_patterns
gc.collect()
gc.freeze()
gc.set_threshold(10_000, 10, 50)
