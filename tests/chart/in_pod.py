"""`python -m tests.chart.in_pod COMMAND …` is manage.py in a pod whose account is mounted in $ACCOUNT_FOLDER."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from django.core.management import execute_from_command_line

from gangboard.kube import credentials

if __name__ == "__main__":
    credentials.SERVICE_ACCOUNT = Path(os.environ["ACCOUNT_FOLDER"])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gangboard.settings")
    execute_from_command_line(["manage.py", *sys.argv[1:]])
