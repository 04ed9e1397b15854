"""`python -m gangboard_client`."""

import sys

from gangboard_client.cli import main

sys.exit(main())
