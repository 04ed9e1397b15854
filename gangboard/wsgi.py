"""The WSGI entry that granian serves."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gangboard.settings")
application = get_wsgi_application()
