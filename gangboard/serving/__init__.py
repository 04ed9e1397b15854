"""How a request is served: its whole body is read first, on the event loop, then a thread answers it.

It imports only the standard library and `gangboard.problem_codes`. It knows bytes, deadlines and threads, but not
Django, gangs or users. `gangboard/asgi.py` builds the application from its parts.

Threads are scarce: each open page that waits for updates holds one. A request gets a thread after its last byte, so
an idle client, a slow sender or a slow reader holds only a socket.
"""
