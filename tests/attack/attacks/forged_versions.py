"""One person's pages send forged versions, each a different one."""

import base64
import random

import urllib3

from tests.attack.asking import resident_bytes, worst_of
from tests.attack.found import Figures
from tests.installation import Installation
from tests.sign_in import sign_in

SECONDS = 60
ASKED = 256
"""Without a bound each of them costs a megabyte."""
PAGES = 128
LONGEST = 60_000
"""Characters of a version."""
MOST_BYTES = 48 * 1024 * 1024
"""Allowed growth of the web server. Its cache is limited to 64 MiB, and these pages are empty."""


def attack(board: Installation) -> Figures:
    """The web server's memory stays as it is, and it answers in time."""
    cookie = sign_in(board.new_sign_in_link("forger"))
    rest = random.Random(5)
    before = resident_bytes(board, "gangboard.entry")
    assert before, "the web server is not among the processes"
    with urllib3.PoolManager(retries=False, headers={"Cookie": cookie}) as pool:
        for number in range(ASKED):
            version = base64.urlsafe_b64encode(rest.randbytes(LONGEST * 3 // 4)).decode()
            page = f"{board.url}/live/board/?q=nothing-{number % PAGES}&version={version}"
            headers = {"Cookie": cookie, "X-Live-Version": version[:4_000]}
            try:
                answer = pool.request("GET", page, headers=headers, redirect=False, timeout=20)
            except urllib3.exceptions.HTTPError as error:
                raise AssertionError(f"no answer to the {number}th: {error}") from error
            assert answer.status in (200, 204), answer.status
    grown = resident_bytes(board, "gangboard.entry") - before
    assert grown < MOST_BYTES, f"the web server has grown by {grown // 2**20} MiB"
    return {"asked": ASKED, "grown_mib": grown // 2**20, "worst_seconds": worst_of(board, 2)}
