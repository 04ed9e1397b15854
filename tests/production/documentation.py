"""Commands of the installation and operations pages, as an operator copies them."""

from __future__ import annotations

import re
import shlex

from tests.production.site import ROOT, Site

_PAGES = ("docs/install.md", "docs/operations.md")
_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Up to a pipe, the end of `$(...)` or a comment.
_COMMAND = re.compile(r"docker compose (?:exec -T|run --rm -T --no-deps) .*?(?= \| |\)$| +# |$)")
_OPTIONS = {"-T", "--rm", "--no-deps"}


def documented(site: Site, heading: str, files: dict[str, bytes] | None = None) -> str:
    """Run the first documented command that contains these words, beside the service that it names.

    `files` are those that the command reads and writes, by name. Returns the output.
    """
    pages = "".join((ROOT / page).read_text() for page in _PAGES)
    lines = "".join(_BLOCK.findall(pages)).splitlines()
    commands = [match[0] for line in lines for match in _COMMAND.finditer(line)]
    command = next((command for command in commands if heading in command), None)
    assert command is not None, f"{' and '.join(_PAGES)} have no command with {heading}"
    files = {} if files is None else files
    argv = [argument for argument in shlex.split(command)[3:] if argument not in _OPTIONS]
    source = _take_redirection(argv, "<")
    target = _take_redirection(argv, ">")
    output = site.run(argv[0], argv[1:], files[source] if source else b"")
    if target:
        files[target] = output
        return ""
    return output.decode()


def _take_redirection(argv: list[str], sign: str) -> str:
    """Remove a redirection from a command. Return the name of its file, empty if there is none."""
    if sign not in argv:
        return ""
    place = argv.index(sign)
    name = argv[place + 1]
    del argv[place : place + 2]
    return name
