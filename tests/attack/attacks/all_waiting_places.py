"""One person without a role has 320 pages that wait for news; others have one."""

import socket
import time

import urllib3

from tests.attack.asking import held_open, worst_of
from tests.attack.found import Figures
from tests.installation import Installation
from tests.live.open_page import read_question
from tests.sign_in import sign_in

SECONDS = 60
PAGES = 320
MOST_OF_ONE = 20
NOWHERE = ("--cluster", "sim-east", "--namespace", "nowhere")
A_WHILE = 2.0
"""Seconds after which a page that is still without an answer waits."""


def attack(board: Installation) -> Figures:
    """Another user's page waits for news as usual."""
    greedy = _cookie(board, "greedy", *NOWHERE)
    cookie = _cookie(board, "modest")
    address, version = _question(board, greedy)
    sent = (
        f"GET {address} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {greedy}\r\n"
        f"X-Live-Version: {version}\r\nX-Tab: "
    )
    with held_open(board, PAGES, sent.encode()) as sockets:
        for number, client in enumerate(sockets):
            client.sendall(f"{number}\r\n\r\n".encode())
        time.sleep(A_WHILE)
        waiting = sum(not _answered(client) for client in sockets)
        assert _waits(board, cookie), "somebody else's page is told to ask every 2 s"
        assert waiting <= MOST_OF_ONE, f"{waiting} pages of one person wait"
        return {"pages": PAGES, "waiting": waiting, "worst_seconds": worst_of(board, 2)}


def _cookie(board: Installation, user: str, *scope: str) -> str:
    role = "viewer" if scope else "admin"
    link = board.manage("create_user", user, "--role", role, *scope).split()[-1]
    return sign_in(f"{board.url}/sign-in/{link.split('/sign-in/')[1]}")


def _question(board: Installation, cookie: str) -> tuple[str, str]:
    with urllib3.PoolManager(retries=False, headers={"Cookie": cookie}) as pool:
        page = pool.request("GET", f"{board.url}/?q=nothing-has-this-name", timeout=10)
        assert page.status == 200, page.status
        return read_question(page.data.decode())


def _answered(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return bool(client.recv(1))
    except BlockingIOError:
        return False


def _waits(board: Installation, cookie: str) -> bool:
    """Return whether an up-to-date page is kept waiting, or receives news."""
    address, version = _question(board, cookie)
    headers = {"Cookie": cookie, "X-Live-Version": version, "X-Tab": "one"}
    with urllib3.PoolManager(retries=False, headers=headers) as pool:
        try:
            answer = pool.request("GET", f"{board.url}{address}", timeout=A_WHILE)
        except urllib3.exceptions.TimeoutError:
            return True
    return "X-Live-Again" not in answer.headers
