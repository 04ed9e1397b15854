"""The environment of the processes that `manage.py up` starts."""

import os
import subprocess
import sys
from pathlib import Path

from gangboard import env
from gangboard.ops import processes
from gangboard.ops.launch import ServerAddress

CODE = """
import warnings
from celery.platforms import ROOT_DISCOURAGED
warnings.warn(ROOT_DISCOURAGED.format(uid=0, euid=0, gid=0, egid=0))
warnings.warn("Something else is wrong")
"""


def test_celery_does_not_warn_root_and_other_warnings_stay(tmp_path: Path) -> None:
    child = processes.poll_worker(folder=tmp_path)
    ended = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, **child.env},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "superuser" not in ended.stderr
    assert "Something else is wrong" in ended.stderr


def test_an_address_of_ipv6_is_a_host_name_in_brackets() -> None:
    """As Django compares it, and as GANGBOARD_HOSTS takes it."""
    place = ServerAddress("fd00::2", 8000)
    assert (place.host_name, place.url) == ("[fd00::2]", "http://[fd00::2]:8000")
    assert env.HOSTS.fullmatch(place.host_name)
    assert ServerAddress("::", 8000).host_name == "[::1]"
