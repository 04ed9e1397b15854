#!/usr/bin/env python3
"""Django's command line for gangboard."""

import os
import sys

from django.core.management import execute_from_command_line

from gangboard.failures import told_in_one_sentence

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gangboard.settings")
    with told_in_one_sentence():
        execute_from_command_line(sys.argv)
