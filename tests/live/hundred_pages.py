"""A hundred open pages: each change reaches each of them soon, in a few kilobytes.

    python -m tests.live.hundred_pages FOLDER

It makes all ready, waits for the file BEGIN in the folder, and then opens the pages and measures.

A process of its own: the cluster and the pages live in it, and what thousands of other tests leave in theirs
(above all for the garbage collector to look through) would stand in the figures.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simulator import Simulator
from simulator.load import synthetic
from simulator.pod_status import pod_status
from simulator.writes import timestamp
from tests.installation import Installation
from tests.live.figures import TAKEN, Figures, tell
from tests.live.open_page import OpenPage
from tests.sign_in import sign_in

PAGES = 100
GANGS = 1_000
PODS = 2_000
CHANGES = 10
REACH_SECONDS = 3.0
_ONE = ("--cluster", "load")
BEGIN = "begin"
BEGIN_SECONDS = 600
BYTES = 6_000
"""Per change and page."""
NAMESPACES = 20
ROW = re.compile(r">(gang-\d+)</a>")
VIEWS = ("/", "/?cluster=load", "/?kind=Job&q=gang", "/?group_by=reason")
"""The worst first in all of them: so every change comes to the top of each."""


@contextmanager
def open_pages(pages: list[OpenPage]) -> Iterator[None]:
    """Keep the pages open for the length of the block."""
    stop = threading.Event()
    threads = [threading.Thread(target=page.run, args=(stop,), daemon=True) for page in pages]
    for thread in threads:
        thread.start()
    try:
        for page in pages:
            assert page.ready.wait(60), f"{page.path} did not open in 60 s"
        time.sleep(2)  # until each of them waits
        yield
    finally:
        stop.set()


def play(folder: Path) -> None:
    """Run the scenario. Raises AssertionError for missed changes."""
    with Simulator("empty", story=False) as simulator:
        synthetic(simulator, pods=PODS, gangs=GANGS, namespaces=NAMESPACES)
        kubeconfig = folder / "load.kubeconfig"
        kubeconfig.write_text(simulator.kubeconfig_text())
        with Installation({"load": kubeconfig}) as installation:
            try:
                _wait_for_gangs(installation)
                pages = _pages(installation)
                _wait_for_begin(folder / BEGIN)
                _watch_changes(simulator, pages)
            except BaseException:
                print(installation.log.read_text()[-3000:], file=sys.stderr)
                raise


def _wait_for_begin(file: Path) -> None:
    give_up_at = time.monotonic() + BEGIN_SECONDS
    while not file.exists():
        assert time.monotonic() < give_up_at, f"nobody told it to begin in {BEGIN_SECONDS} s"
        time.sleep(0.1)


def _watch_changes(simulator: Simulator, pages: list[OpenPage]) -> None:
    with open_pages(pages):
        arrived = {name for page in pages for name in page.arrived}
        hidden = [name for name in map("gang-{}".format, range(GANGS)) if name not in arrived]
        made_at = _make_changes(simulator, hidden[:CHANGES])
        time.sleep(REACH_SECONDS)
    _judge(pages, made_at)


def _wait_for_gangs(installation: Installation) -> None:
    give_up_at = time.monotonic() + 90
    while installation.get("summary/")["gangs"] < GANGS:
        assert time.monotonic() < give_up_at, "the gangs were not read in 90 s"
        time.sleep(0.5)


def _pages(installation: Installation) -> list[OpenPage]:
    """Open pages of four administrators and of four who may see this cluster only.

    Each has fewer than may wait of one person.
    """
    cookies = []
    for user in ("ada", "ben", "cleo", "dan", "eve", "finn", "gil", "hana"):
        scope = () if user < "e" else _ONE
        role = "viewer" if scope else "admin"
        link = installation.manage("create_user", user, "--role", role, *scope).splitlines()[-1]
        cookies.append(sign_in(f"{installation.url}/sign-in/{link.split('/sign-in/')[1]}"))
    return [
        OpenPage(
            installation.url,
            VIEWS[number // len(cookies) % len(VIEWS)],
            cookies[number % len(cookies)],
            ROW,
        )
        for number in range(PAGES)
    ]


def _make_changes(simulator: Simulator, gangs: list[str]) -> dict[str, float]:
    """Let one gang a second lose a pod's readiness; return when, by gang."""
    started_at = time.time()
    made_at = {}
    for number, name in enumerate(gangs):
        time.sleep(max(0.0, started_at + number - time.time()))
        made_at[name] = time.time()  # before it is made: errs on the side of the longer time
        _make_unready(simulator, name)
    return made_at


def _make_unready(simulator: Simulator, gang: str) -> None:
    """Let the first pod of a gang fail its readiness probe."""
    namespace = f"load-{int(gang.removeprefix('gang-')) % NAMESPACES}"
    pod = next(
        pod["metadata"]["name"]
        for pod in simulator.objects.list("v1", "Pod", namespace)
        if pod["metadata"]["name"].startswith(f"{gang}-0-")
    )

    def change(obj: dict[str, Any]) -> None:
        obj["status"] = pod_status("unready", obj, timestamp())

    simulator.objects.update("v1", "Pod", pod, change, namespace)


def _judge(pages: list[OpenPage], made_at: dict[str, float]) -> None:
    """Print the figures in any case, and raise AssertionError with every page that missed a
    change."""
    sizes = [sum(page.answers) / CHANGES for page in pages]
    tell(
        f"bytes per change and page: mean {sum(sizes) / len(sizes):.0f}, worst {max(sizes):.0f}; "
        f"answers per page and change {sum(len(p.answers) for p in pages) / PAGES / CHANGES:.2f}"
    )
    tell(f"load of the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    times = {
        (number, name): page.arrived[name] - changed_at
        for number, page in enumerate(pages)
        for name, changed_at in made_at.items()
        if name in page.arrived
    }
    if times:
        Figures.of(f"change to each of {PAGES} pages", list(times.values()))
    misses = [failure for page in pages for failure in page.failures]
    for number, page in enumerate(pages):
        label = f"page {number}, {page.path}"
        for name in made_at:
            reached = times.get((number, name))
            if reached is None:
                misses.append(f"{label}: the change of {name} did not arrive")
            elif reached > REACH_SECONDS:
                misses.append(f"{label}: the change of {name} arrived after {reached:.2f} s")
    misses += [f"{size:.0f} bytes per change on a page" for size in sizes if size > BYTES]
    assert not misses, f"{len(misses)} misses:\n" + "\n".join(misses[:50])


if __name__ == "__main__":
    try:
        play(Path(sys.argv[1]))
    finally:
        print("\n".join(TAKEN))
