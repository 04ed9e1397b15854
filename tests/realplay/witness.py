"""Watches all objects of the played namespaces, without the poll of gangboard."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import urllib3

from tests.controlplane.client import ApiError, Client
from tests.controlplane.objects import JOBSET
from tests.realplay.history import Change, History, Json, Seen, read

_VERSIONS = {
    "Pod": "v1",
    "Job": "batch/v1",
    "JobSet": JOBSET,
    "Hold": "gangboard.dev/v1alpha1",
}
_EXPIRED = 410
_WINDOW_SECONDS = 10
_PAUSE = 0.05
"""Seconds before the next try, after an API server gave no answer."""


class Witness:
    """One thread for each kind lists and watches it in all namespaces.

    A watch that ends is continued from its last resourceVersion. A restarted API server does not know it
    any more. Then the witness lists again, and misses only states that were replaced within that second.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._over = threading.Event()
        self._histories: dict[str, History] = defaultdict(History)
        self._lock = threading.Lock()
        self._versions: dict[str, str] = {}
        """Kind → the last resourceVersion, after which to go on."""

    def history(self, namespace: str) -> History:
        """Return what was seen of a namespace. It grows while the witness watches."""
        with self._lock:
            return self._histories[namespace]

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch while the block runs."""
        threads = [
            threading.Thread(target=self._run, args=(kind,), name=f"witness of {kind}")
            for kind in _VERSIONS
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join(2 * _WINDOW_SECONDS)

    def _run(self, kind: str) -> None:
        known: dict[str, tuple[str, Seen]] = {}
        while not self._over.is_set():
            try:
                if kind not in self._versions:
                    self._list(kind, known)
                self._watch(kind, known)
            except ApiError as error:
                if error.status == _EXPIRED:
                    self._versions.pop(kind, None)
                self._over.wait(_PAUSE)
            except (OSError, urllib3.exceptions.HTTPError, ValueError):
                self._over.wait(_PAUSE)

    def _list(self, kind: str, known: dict[str, tuple[str, Seen]]) -> None:
        """Record the differences from the known objects."""
        answer = self._client.request("GET", self._client.path(_VERSIONS[kind], kind))
        now = time.time()
        current = {raw["metadata"]["uid"]: raw for raw in answer["items"]}
        for uid in [uid for uid in known if uid not in current]:
            self._record(known, uid, known[uid][0], None, now)
        for uid, raw in current.items():
            self._record(known, uid, raw["metadata"]["namespace"], read(kind, raw), now)
        self._versions[kind] = answer["metadata"]["resourceVersion"]

    def _watch(self, kind: str, known: dict[str, tuple[str, Seen]]) -> None:
        """Record changes for some seconds, or until the server does not know the resourceVersion."""
        path = self._client.path(_VERSIONS[kind], kind)
        version = self._versions[kind]
        for event in self._client.watch(path, version, seconds=_WINDOW_SECONDS):
            if event["type"] == "ERROR":
                del self._versions[kind]
                return
            raw: Json = event["object"]
            if event["type"] != "BOOKMARK":
                state = None if event["type"] == "DELETED" else read(kind, raw)
                uid, namespace = raw["metadata"]["uid"], raw["metadata"]["namespace"]
                self._record(known, uid, namespace, state, time.time())
            self._versions[kind] = raw["metadata"]["resourceVersion"]
            if self._over.is_set():
                return

    def _record(
        self,
        known: dict[str, tuple[str, Seen]],
        uid: str,
        namespace: str,
        state: Seen | None,
        at: float,
    ) -> None:
        if state is None:
            known.pop(uid, None)
        elif known.get(uid) == (namespace, state):
            return
        else:
            known[uid] = (namespace, state)
        with self._lock:
            self._histories[namespace].changes.append(Change(at, uid, state))
