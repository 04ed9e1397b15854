"""How a request comes in: its whole body first, on the event loop, then a thread for it.

What may enter: the standard library. This room knows bytes, deadlines and threads; it knows nothing of
Django, of gangs, or of who asks. `gangboard/asgi.py` puts it together.

A thread is dear: each open page that waits for news holds one. So nobody gets one before he has sent
everything, and what an onlooker, a slow sender or a slow reader can hold is a socket.
"""
