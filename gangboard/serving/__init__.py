"""How a request comes in: its whole body first, on the event loop, then a thread for it.

This room imports the standard library only. It knows bytes, deadlines and threads, and nothing about Django, gangs or
users. `gangboard/asgi.py` builds the application of its parts.

Threads are scarce: each open page that waits for news holds one. A request gets a thread after its last byte, so an idle
client, a slow sender or a slow reader holds a socket only.
"""
