"""Settings of the tests: the product's own, with a state folder that is thrown away."""

import os
import tempfile

# Before the product's settings are read: secrets and databases of a test run never meet real ones.
os.environ.setdefault("GANGBOARD_STATE", tempfile.mkdtemp(prefix="gangboard-tests-"))
os.environ.setdefault("GANGBOARD_LOG_LEVEL", "WARNING")

from gangboard.settings import *  # noqa: F403  # the product's settings are the base on purpose

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
