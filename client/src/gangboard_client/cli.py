"""`gangboard` and `kubectl gangboard`: the arguments, and the exit codes 0, 1 and 2."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from gangboard_client import __version__
from gangboard_client.acting import act
from gangboard_client.capacity import list_capacity
from gangboard_client.checking import check
from gangboard_client.context import Context
from gangboard_client.errors import ClientError, NotReachedError
from gangboard_client.explaining import explain
from gangboard_client.following import follow_events
from gangboard_client.gangs import FORMAT
from gangboard_client.output import Output
from gangboard_client.reading import list_gangs, list_holds, list_queues, list_reasons, whoami
from gangboard_client.settings import read_settings, read_token
from gangboard_client.signing_in import login
from gangboard_client.transport import Server
from gangboard_client.waiting import STATES, wait

INTERRUPTED = 130
BAD = 2

Command = Callable[[Context, argparse.Namespace], int]
_EXITS = """exit codes:
  0  yes: whole, done, found
  1  no: waits, blocked, refused, time is up
  2  not known: wrong usage, an error, or a cluster that could not be read"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    args = parser().parse_args(argv)
    output = Output(sys.stdout, sys.stderr, as_json=args.output == "json")
    try:
        return _run(args, output)
    except ClientError as error:
        output.note(f"gangboard: {error}")
    except KeyError as error:
        output.note(
            f"gangboard: the answer of the server has no {error}: its release does not fit this client."
        )
    except BrokenPipeError:
        # The reader has seen enough. Without this Python would complain again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return INTERRUPTED
    return BAD


def _run(args: argparse.Namespace, output: Output) -> int:
    settings = read_settings(
        server=args.server,
        ca_file=args.ca_file,
        token_file=args.token_file,
        allow_http=args.allow_http,
    )
    if args.command == "login":
        return login(output, settings, args)
    output.secret = read_token(settings)
    server = Server(settings.server, output.secret, ca_file=settings.ca_file)
    run: Command = args.run
    try:
        return run(Context(server, output), args)
    except NotReachedError:
        raise
    except ClientError as error:
        if getattr(error, "status", 0) == 401:
            raise ClientError(f"{error} Run `gangboard login` with a new one.") from error
        raise


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    name = Path(sys.argv[0]).name
    prog = "kubectl gangboard" if name.startswith("kubectl-") else "gangboard"
    found = argparse.ArgumentParser(
        prog=prog,
        description="Which gangs are whole, which wait and why, over all clusters.",
        epilog=_EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--version", action="version", version=f"gangboard {__version__}")
    _add_common(found, with_defaults=True)
    commands = found.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(name: str, run: Command | None, help_: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=help_, description=help_)
        _add_common(command, with_defaults=False)
        command.set_defaults(run=run)
        return command

    _add_lists(add)
    _add_events(add)
    _add_gang_commands(add)
    for verb, help_ in (
        ("suspend", "Suspend a gang, or hold one of its Jobs."),
        ("resume", "Resume a gang or one of its Jobs."),
        ("relocate", "Restart one Job outside a node or a topology domain."),
    ):
        _add_action(add(verb, act, help_), verb)
    check_ = add("check", check, "Say whether manifests would run now. Nothing is created.")
    check_.add_argument("-f", "--file", required=True, help="manifests in YAML; - reads them")
    check_.add_argument("--cluster", action="append", help="only this cluster; may be repeated")
    add("whoami", whoami, "Show whose token it is and what it may do.")
    login_ = add("login", None, "Keep a token for a server. It is read from a prompt or a pipe.")
    login_.add_argument("--keyring", action="store_true", help="keep it in the system's keyring")
    return found


Add = Callable[[str, Command | None, str], argparse.ArgumentParser]


def _add_lists(add: Add) -> None:
    gangs = add("list", list_gangs, "List gangs, the worst first.")
    _add_filters(gangs, "cluster", "namespace", "kind", "api-group", "health", "stage", "code")
    _add_filters(gangs, "queue", "label", "submitter", "q", "ordering")
    gangs.add_argument("--mine", action="store_true", help="gangs that you submitted")
    gangs.add_argument("--blocked-for", metavar="SPAN", help="blocked for at least this long: 10m")
    gangs.add_argument("--gone", action="store_true", help="deleted gangs, the last one first")
    holds = add("holds", list_holds, "List who holds which Job, and until when.")
    _add_filters(holds, "cluster", "namespace", "q")
    holds.add_argument("--ending-within", metavar="SPAN", help="end by themselves this soon: 2h")
    reasons = add("reasons", list_reasons, "List why gangs wait, by stage.")
    _add_filters(reasons, "cluster", "namespace")
    reasons.add_argument(
        "--most", type=int, metavar="N", help="only the N reasons with the most accelerators"
    )
    queues = add("queues", list_queues, "List queues with what waits in them and their quota.")
    _add_filters(queues, "cluster", "state", "q")
    capacity = add("capacity", list_capacity, "List how many accelerators are free.")
    _add_filters(capacity, "cluster")
    capacity.set_defaults(exit_code=False)
    for command in (gangs, holds, reasons, queues):
        command.add_argument(
            "--exit-code", action="store_true", help="exit 1 if there is a result, for alerts"
        )


def _add_events(add: Add) -> None:
    events = add("events", follow_events, "List what changed, the oldest first.")
    _add_filters(events, "cluster", "namespace", "type", "health", "code")
    events.add_argument(
        "--cursor-file", default="", help="go on from here; a file that is not there yet begins now"
    )
    events.add_argument("--wait", default="0s", metavar="SPAN", help="for the first event (0s)")
    events.add_argument("-f", "--follow", action="store_true", help="go on until interrupted")


def _add_gang_commands(add: Add) -> None:
    explain_ = add("explain", explain, "Explain the state of a gang.")
    explain_.add_argument("gang", metavar=FORMAT)
    wait_ = add("wait", wait, "Wait until a gang is in a state.")
    wait_.add_argument("gang", metavar=FORMAT)
    wait_.add_argument(
        "--for",
        dest="wanted",
        default="running",
        metavar="STATES",
        help=f"separated by commas: {', '.join(STATES)} (running)",
    )
    wait_.add_argument("--job", help="with --for held: this Job; all Jobs without it")
    wait_.add_argument("--timeout", default="10m", metavar="SPAN", help="give up after (10m)")


def _add_action(command: argparse.ArgumentParser, verb: str) -> None:
    command.add_argument("gang", metavar=FORMAT)
    command.add_argument("--job", help="one Job of the gang, not the gang as a whole")
    command.add_argument("--reason", help="the reason, which is kept in the record")
    command.add_argument("--wait", action="store_true", help="until it was seen to hold, or not")
    command.add_argument("--timeout", default="5m", metavar="SPAN", help="of --wait (5m)")
    command.add_argument("--dry-run", action="store_true", help="print the plan; send nothing")
    command.add_argument(
        "--idempotency-key", metavar="KEY", help="the same key acts only once (made if not given)"
    )
    command.set_defaults(verb=verb, until=None)
    if verb == "relocate":
        command.add_argument("--node", action="append", metavar="NODE", help="leave this node")
        command.add_argument("--domain", metavar="KEY=VALUE", help="leave this topology domain")
        command.add_argument(
            "--all-nodes", action="store_true", help="remove the exclusion of an earlier relocation"
        )
    if verb == "suspend":
        command.add_argument(
            "--until", metavar="SPAN|TIME", help="release the Hold then: 4h or 2026-11-21T18:00:00Z"
        )


def _add_filters(command: argparse.ArgumentParser, *names: str) -> None:
    for name in names:
        command.add_argument(f"--{name}", metavar=name.upper(), help=_FILTERS.get(name))


_FILTERS = {
    "type": "verdict, deleted or action",
    "health": "one or more, separated by commas",
    "label": "KEY=VALUE or KEY, separated by commas",
    "q": "words that must all occur",
    "kind": "such as TrainJob",
    "api-group": "API group of the kind",
}


def _add_common(command: argparse.ArgumentParser, *, with_defaults: bool) -> None:
    """Add the options of every command, which may stand before and behind its name."""

    def default(value: object) -> object:
        return value if with_defaults else argparse.SUPPRESS

    command.add_argument("-o", "--output", choices=("table", "json"), default=default("table"))
    command.add_argument("--server", default=default(""), help="address (or GANGBOARD_SERVER)")
    command.add_argument(
        "--token-file", default=default(""), help="file with the token (or GANGBOARD_TOKEN)"
    )
    command.add_argument("--ca-file", default=default(""), help="authorities that are trusted")
    command.add_argument(
        "--allow-http",
        action="store_true",
        default=default(False),
        help="send the token unencrypted",
    )
