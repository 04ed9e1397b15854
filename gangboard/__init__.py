"""gangboard shows which gangs run completely and which wait, and why, for all clusters."""

import atexit
import gc

__version__ = "0.1.0"

# By default Python looks for garbage after every 700 new objects. Polls make millions that live on, so this takes a
# quarter of their processor time.
gc.set_threshold(10_000, 10, 50)

# A process that ends would look for garbage among all its objects first. That was a quarter of the time of a command.
atexit.register(gc.freeze)
