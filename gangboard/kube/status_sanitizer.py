"""What a Kubernetes Status says, without what must not be shown: tokens, and objects that it quotes."""

from __future__ import annotations

import msgspec

from gangboard.kube.errors import Cause, ApiStatus, clean_text

LONGEST_MESSAGE = 1000
"""Characters. Admission policies are wordy before they come to the point."""
LONGEST_WORD = 128
"""Characters of reasons, kinds and names of fields."""
LONGEST_VALUE = 200
"""Characters of `Invalid value: …` and what follows that are shown as they are."""
MAX_CAUSES = 16

_INVALID = "Invalid value: "


class _Cause(msgspec.Struct):
    field: str = ""
    reason: str = ""
    message: str = ""


class _Details(msgspec.Struct):
    name: str = ""
    kind: str = ""
    causes: list[_Cause] | None = None


class _Status(msgspec.Struct):
    kind: str = ""
    message: str = ""
    reason: str = ""
    details: _Details | None = None


_STATUS = msgspec.json.Decoder(_Status)


def read_status(body: bytes, secret: str = "") -> ApiStatus:
    """Read the body of a refusal; an empty ApiStatus when it is something else than a Status.

    `secret`: the token that was sent, which a server may repeat.
    """
    try:
        status = _STATUS.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return ApiStatus()
    if status.kind != "Status":
        return ApiStatus()

    def clean(text: str, limit: int = LONGEST_WORD) -> str:
        longer = clean_text(without_value(text), limit * 4)
        return clean_text(longer.replace(secret, "[token]") if secret else longer, limit)

    details = status.details or _Details()
    causes = (details.causes or [])[:MAX_CAUSES]
    return ApiStatus(
        reason=clean(status.reason),
        message=clean(status.message, LONGEST_MESSAGE),
        kind=clean(details.kind),
        name=clean(details.name, 253),
        causes=tuple(
            Cause(clean(one.field), clean(one.reason), clean(one.message, LONGEST_MESSAGE))
            for one in causes
        ),
    )


def without_value(message: str) -> str:
    """Leave a long invalid value out of a message, and keep why it is invalid.

    A 422 quotes the value: of an unknown field (`fieldValidation=Strict`) the whole object, of an
    immutable pod template all of it, with the environment of its containers. Go writes them as JSON
    without a space after its colons, so what follows the last one with a space is the reason.
    """
    before, found, rest = message.partition(_INVALID)
    if not found or len(rest) <= LONGEST_VALUE:
        return message
    why = rest.rpartition(": ")[2].rstrip("]")
    # A message may end with the value: then this is a piece of it.
    if len(why) > LONGEST_VALUE or any(sign in why for sign in "{}\\") or why.count('"') % 2:
        why = "the server quotes a long value, which is left out here"
    return f"{before}{_INVALID}…: {why}"
