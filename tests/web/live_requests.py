"""Live requests of an open page."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import cast

from django.http import HttpResponse
from django.test import Client


@dataclass(frozen=True)
class Question:
    """The waiting request of an open page."""

    address: str
    version: str

    def ask(self, client: Client, **headers: str) -> HttpResponse:
        """Return the answer."""
        values = {"X-Live-Version": self.version, **headers}
        return cast("HttpResponse", client.get(self.address, headers=values))


def first_question(client: Client, path: str) -> Question:
    """Return the first live request of a page."""
    return next_question(client.get(path).content.decode())


def next_question(page: str) -> Question:
    """Return the next live request in a page or update."""
    address = re.search(r'hx-get="(/live/[^"]+)"', page)
    headers = re.search(r"hx-headers='([^']+)'", page)
    assert address is not None
    assert headers is not None
    version = json.loads(html.unescape(headers.group(1)))["X-Live-Version"]
    return Question(html.unescape(address.group(1)), version)
