"""Settings of the tests: the product's own, with a state folder that is thrown away."""

import atexit
import os
import shutil
import tempfile

# Before the product's settings are read: secrets and databases of a test run never meet real ones,
# nor those of another lane, which inherits the environment of the process that begins the run.
if "GANGBOARD_STATE" not in os.environ or (
    os.environ.get("TESTS_LANE", "") != os.environ.get("PYTEST_XDIST_WORKER", "")
):
    _folder = tempfile.mkdtemp(prefix="gangboard-tests-")
    atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    os.environ["GANGBOARD_STATE"] = _folder
    os.environ["TESTS_LANE"] = os.environ.get("PYTEST_XDIST_WORKER", "")
os.environ.setdefault("GANGBOARD_LOG_LEVEL", "WARNING")
# Clusters of the tests are on this machine, and dead ones have documentation addresses.
os.environ.setdefault("GANGBOARD_CLUSTER_NETWORKS", "0.0.0.0/0,::/0")

from gangboard.settings import *  # noqa: F403  # the product's settings are the base on purpose

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
