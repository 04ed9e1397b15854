"""What a text of the kubelet says that is not there: what to make or correct, and nothing guessed.

Formats of the kubelet (kubelet_pods.go, security_context.go, volume/configmap, volume/secret) and of
container runtimes (`exec: "x": executable file not found in $PATH`). It tries again by itself.
"""

from __future__ import annotations

import re

from gangboard.domain.advice import ChangeMethod
from gangboard.domain.text import names

_KINDS = {"secret": "Secret", "config": "ConfigMap", "configmap": "ConfigMap"}
_ABSENT = re.compile(r'\b(secret|configmap) "([\w.-]{1,253})" not found', re.IGNORECASE)
_NO_KEY = re.compile(r"couldn't find key (\S{1,253}) in (Secret|ConfigMap) ([\w.-]+/[\w.-]+)")
_NO_FILE = re.compile(
    r'volume "([\w.-]{1,253})".{0,300}references non-existent (secret|config) key: (\S{1,253})'
)
_NO_COMMAND = re.compile(
    r'exec: "([^"]{1,200})": (?:executable file not found|stat [^:]+: no such file or directory)'
)
_WHOSE = re.compile(r' \(pod: "[^"]{1,600}", container: [\w-]{1,63}\)$')
_AS_ROOT = "container has runAsNonRoot and image will run as root"
_USER_NAME = "image has non-numeric user"
_AGAIN = "the kubelet tries again by itself"


def absent_object(text: str, namespace: str) -> str:
    """Return the sentence that says which Secret, ConfigMap or key of one to make; or nothing."""
    absent = dict.fromkeys(
        f"{_KINDS[kind.lower()]} {namespace}/{name}" for kind, name in _ABSENT.findall(text)
    )
    if absent:
        return f"Create {names(absent)}: {_AGAIN}."
    key = _NO_KEY.search(text)
    if key is not None:
        return f"Add key {key[1]} to {key[2]} {key[3]}: {_AGAIN}."
    file = _NO_FILE.search(text)
    if file is not None:
        return f"Add key {file[3]} to the {_KINDS[file[2]]} of volume {file[1]}: {_AGAIN}."
    return ""


def telling_part(text: str) -> str:
    """Return the text without what wraps its cause: what the runtime failed at, and which pod it is."""
    command = _NO_COMMAND.search(text)
    return command[0] if command is not None else _WHOSE.sub("", text)


def wrong_template(text: str, container: str) -> str:
    """Return the sentence that says what of a container's own spec to correct; or nothing."""
    command = _NO_COMMAND.search(text)
    if command is not None:
        return (
            f"Correct the command of container {container}, or name an image that has "
            f"{command[1]} ({ChangeMethod.RECREATE})."
        )
    if _AS_ROOT in text:
        return (
            f"Set runAsUser of container {container} to a user other than 0, or name an image "
            f"whose user is not root ({ChangeMethod.RECREATE})."
        )
    if _USER_NAME in text:
        return f"Set runAsUser of container {container} to the number of its user ({ChangeMethod.RECREATE})."
    return ""
