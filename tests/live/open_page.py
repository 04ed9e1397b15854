"""An open page as a plain HTTP client: it asks for news exactly as the browser does."""

from __future__ import annotations

import html
import random
import re
import threading
import time
from dataclasses import dataclass, field

import urllib3

ASK_AGAIN = 0.05
SPREAD = 0.25
"""Seconds between an answer and the next question, and up to so much more: see static/js/live.js."""
_LIVE = re.compile(r'hx-get="(/live/[^"]+)" hx-headers=\'{"X-Live-Version": "([^"]*)"}\'')


@dataclass
class OpenPage:
    """One browser tab. `arrived` records the unix time at which each marked change first
    appeared."""

    url: str
    path: str
    cookie: str
    marker: re.Pattern[str]
    """Its first group identifies the change."""
    arrived: dict[str, float] = field(default_factory=dict)
    answers: list[int] = field(default_factory=list)
    """Bytes of each answer with news."""
    failures: list[str] = field(default_factory=list)
    ready: threading.Event = field(default_factory=threading.Event)

    def run(self, stop: threading.Event) -> None:
        """Open the page and wait for news until `stop`. Errors are collected in `failures`."""
        tab = f"{random.getrandbits(64):x}"
        headers = {"Cookie": self.cookie, "HX-Request": "true", "X-Tab": tab}
        with urllib3.PoolManager(retries=False, headers=headers) as pool:
            try:
                page = self._get(pool, self.path)
                question = read_question(page)
                self._note(page, before=True)
                self.ready.set()
                while not stop.is_set():
                    stop.wait(ASK_AGAIN + random.random() * SPREAD)
                    news = self._get(pool, *question)
                    if news:
                        self.answers.append(len(news.encode()))
                        self._note(news)
                        question = read_question(news)
            except (urllib3.exceptions.HTTPError, AssertionError) as error:
                if not stop.is_set():
                    self.failures.append(f"{self.path}: {error!r}")
            finally:
                self.ready.set()

    def _get(self, pool: urllib3.PoolManager, path: str, version: str = "") -> str:
        headers = {**pool.headers, **({"X-Live-Version": version} if version else {})}
        url = f"{self.url}{path}"
        answer = pool.request("GET", url, headers=headers, redirect=False, timeout=40)
        assert answer.status in (200, 204), f"{answer.status} {answer.data[:200]!r}"
        assert "HX-Refresh" not in answer.headers, "the page is told to load anew"
        return answer.data.decode()

    def _note(self, text: str, *, before: bool = False) -> None:
        now = 0.0 if before else time.time()
        for marker in self.marker.findall(text):
            self.arrived.setdefault(marker, now)


def read_question(page: str) -> tuple[str, str]:
    """Return address and version with which a page, or its news, has the browser ask next."""
    match = _LIVE.search(page)
    assert match is not None, "no address to ask for news"
    return html.unescape(match.group(1)), match.group(2)
