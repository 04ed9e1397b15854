"""How granian is called: by `manage.py up`, in the Dockerfile and by tests."""

WEB_SERVER = (
    "gangboard.entry:application",
    # All open pages wait in one process; see `web.live.notifier`.
    *("--interface", "asginl", "--workers", "1", "--loop", "asyncio"),
    # One connection carries one request at a time.
    *("--http", "1", "--no-ws"),
    # Connections that are open, and that may wait to be.
    *("--backpressure", "4096", "--backlog", "4096"),
    # Milliseconds and bytes for the headers; the time also ends connections on which nobody asks.
    *("--http1-header-read-timeout", "10000", "--http1-buffer-size", "65536"),
)
