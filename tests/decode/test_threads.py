"""Several threads use all decoders for the first time at once, as at the start of a poll worker."""

import subprocess
import sys

from django.conf import settings

# Each run is a forked process: decoders are made once, and a half-made one ends the process.
SCRIPT = """
import os, sys, threading
import django
django.setup()
from gangboard.decode.list_watch_decoder import read_event, read_page
from gangboard.polling.cluster_cache import resources

sys.setswitchinterval(1e-6)
META = b'{"name":"a","namespace":"b","uid":"u","resourceVersion":"1",' \\
    b'"ownerReferences":[{"apiVersion":"a/v1","kind":"K","name":"n","uid":"x"}]}'
ONE = b'{"metadata":' + META + b',"spec":{},"status":{}}'
found = list(resources())

def begin(resource, together, read):
    together.wait()
    read_page(b'{"kind":"List","metadata":{"resourceVersion":"1"},"items":[' + ONE + b']}', resource)
    read_event(b'{"type":"ADDED","object":' + ONE + b'}', resource)
    read.append(resource.key)

def begin_all():
    together, read = threading.Barrier(len(found)), []
    threads = [threading.Thread(target=begin, args=(each, together, read)) for each in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(read) == len(found) > 5

for _ in range(5):
    child = os.fork()
    if child == 0:
        os._exit(0 if begin_all() else 1)
    print(os.waitpid(child, 0)[1])
"""


def test_concurrent_first_use_of_decoders() -> None:
    """Without a lock around their making this ended in a segmentation fault in three of five runs."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["0"] * 5), done.stderr
