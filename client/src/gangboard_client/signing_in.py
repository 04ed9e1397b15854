"""`login`: keep a token for a server."""

from __future__ import annotations

import getpass
import sys
from argparse import Namespace

from gangboard_client.output import Output
from gangboard_client.schema import Account
from gangboard_client.settings import Settings, checked_token, read_token, store_token
from gangboard_client.transport import Server


def login(output: Output, settings: Settings, args: Namespace) -> int:
    """Read a token, try it, and keep it only if the server takes it."""
    token = _given(settings)
    output.secret = token
    server = Server(settings.server, token, ca_file=settings.ca_file)
    account: Account = server.ask("get_me").data
    place = store_token(settings, token, in_keyring=args.keyring)
    output.line(f"Signed in to {settings.server} as {account['name']}; the token is in {place}.")
    return 0


def _given(settings: Settings) -> str:
    """Return the token of --token-file, of a prompt without echo, or of standard input."""
    if settings.token_file:
        return read_token(settings)
    if sys.stdin.isatty():
        return checked_token(getpass.getpass("Token (from the account page): "), "The answer")
    return checked_token(sys.stdin.read(4096), "Standard input")
