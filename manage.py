#!/usr/bin/env python3
"""Django's command line for gangboard."""

import os
import sys

from django.core.management import execute_from_command_line

from gangboard.failures import exit_on_known_errors

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gangboard.settings")
    with exit_on_known_errors():
        execute_from_command_line(sys.argv)
