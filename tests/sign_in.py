"""Signing in by a one-time link as a browser without scripts does it: look at it, press its button."""

from __future__ import annotations

import html
import re
from urllib.parse import urlencode, urljoin

import urllib3


def sign_in(link: str) -> str:
    """Use a one-time link; return the cookie of the session, `sessionid=…`."""
    with urllib3.PoolManager(retries=False) as pool:
        request = pool.request("GET", link, redirect=False, timeout=20)
        assert request.status == 200, request.data[:500]
        page = request.data.decode()
        action = re.search(r'<form method="post" action="([^"]+)"', page)
        assert action is not None, page
        used = pool.request(
            "POST",
            urljoin(link, html.unescape(action.group(1))),
            body=urlencode(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page)),
            headers={
                "Content-Type": "application/x-www-form-urlencoded",
                "Cookie": _cookie(request, "csrftoken"),
            },
            redirect=False,
            timeout=20,
        )
    assert used.status == 302, used.data[:500]
    return _cookie(used, "sessionid")


def _cookie(answer: urllib3.BaseHTTPResponse, name: str) -> str:
    """Return `name=value`; under HTTPS a name has the prefix `__Host-`."""
    for line in answer.headers.getlist("Set-Cookie"):
        cookie: str = line.split(";")[0]
        if cookie.partition("=")[0].removeprefix("__Host-") == name:
            return cookie
    raise AssertionError(f"no cookie {name}: {answer.headers}")
