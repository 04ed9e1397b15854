"""Several threads use all decoders for the first time at once, as at the start of a poll worker."""

import subprocess
import sys

from django.conf import settings

# In a process of its own: decoders are made once, and a half-made one ends the process.
SCRIPT = """
import sys, threading
import django
django.setup()
from gangboard.decode.list_watch_decoder import read_event, read_page
from gangboard.polling.cluster_cache import resources

sys.setswitchinterval(1e-6)
META = b'{"name":"a","namespace":"b","uid":"u","resourceVersion":"1",' \\
    b'"ownerReferences":[{"apiVersion":"a/v1","kind":"K","name":"n","uid":"x"}]}'
ONE = b'{"metadata":' + META + b',"spec":{},"status":{}}'
found = list(resources())
together = threading.Barrier(len(found))
read = []

def begin(resource):
    together.wait()
    read_page(b'{"kind":"List","metadata":{"resourceVersion":"1"},"items":[' + ONE + b']}', resource)
    read_event(b'{"type":"ADDED","object":' + ONE + b'}', resource)
    read.append(resource.key)

threads = [threading.Thread(target=begin, args=(resource,)) for resource in found]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(read) == len(found) > 5)
"""


def test_concurrent_first_use_of_decoders() -> None:
    """Without a lock around their making this ended in a segmentation fault in three of five runs."""
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=settings.BASE_DIR,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr
