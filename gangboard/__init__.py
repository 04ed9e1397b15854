"""gangboard shows which gangs run completely and which wait, and why, for all clusters."""

import atexit
import gc

__version__ = "0.1.0"

# By default Python looks for garbage after every 700 new objects. Polls make millions that live on, so this takes a
# quarter of their processor time.
gc.set_threshold(10_000, 10, 50)

# At its end Python looks for garbage among all objects, which took a quarter of the processor time of a short command.
atexit.register(gc.freeze)
