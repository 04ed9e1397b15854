"""Commands of docs/install.md, as an operator copies them."""

from __future__ import annotations

import re
import shlex

from tests.production.site import ROOT, Site

_PAPER = ROOT / "docs" / "install.md"
_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Up to a pipe, the end of `$(...)` or a comment.
_COMMAND = re.compile(r"docker compose (?:exec -T|run --rm -T --no-deps) .*?(?= \| |\)$| +# |$)")


def documented(site: Site, words: str, files: dict[str, bytes] | None = None) -> str:
    """Run the first command of the paper with these words in it, beside the service that it names.

    `files` are those that the command reads and writes, by name. Returns what it prints.
    """
    lines = "".join(_BLOCK.findall(_PAPER.read_text())).splitlines()
    commands = [found[0] for line in lines for found in _COMMAND.finditer(line)]
    command = next((one for one in commands if words in one), None)
    assert command is not None, f"docs/install.md has no command with {words}"
    files = {} if files is None else files
    argv = [word for word in shlex.split(command)[3:] if word not in _OPTIONS]
    source = _taken(argv, "<")
    target = _taken(argv, ">")
    printed = site.run(argv[0], argv[1:], files[source] if source else b"")
    if target:
        files[target] = printed
        return ""
    return printed.decode()


_OPTIONS = {"-T", "--rm", "--no-deps"}


def _taken(argv: list[str], sign: str) -> str:
    """Take a redirection out of a command; return the name of its file, empty if there is none."""
    if sign not in argv:
        return ""
    place = argv.index(sign)
    name = argv[place + 1]
    del argv[place : place + 2]
    return name
