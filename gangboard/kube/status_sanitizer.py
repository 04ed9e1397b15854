"""Reads a Kubernetes Status and removes secrets: tokens, and objects that it quotes."""

from __future__ import annotations

import msgspec

from gangboard.kube.errors import ApiStatus, Cause, clean_text

LONGEST_MESSAGE = 1000
"""Characters. Admission policies explain at length before they give the reason."""
LONGEST_WORD = 128
"""Characters of reasons, kinds and names of fields."""
LONGEST_VALUE = 200
"""Characters after `Invalid value: ` up to which a message is shown unchanged."""
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
    """Return the Status in the body of a refusal. Empty if the body is no Status.

    `secret`: the token that was sent, which a server may repeat.
    """
    try:
        status = _STATUS.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return ApiStatus()
    if status.kind != "Status":
        return ApiStatus()

    def clean(text: str, limit: int = LONGEST_WORD) -> str:
        cleaned = clean_text(without_value(text), limit * 4)
        return clean_text(cleaned.replace(secret, "[token]") if secret else cleaned, limit)

    details = status.details or _Details()
    causes = (details.causes or [])[:MAX_CAUSES]
    return ApiStatus(
        reason=clean(status.reason),
        message=clean(status.message, LONGEST_MESSAGE),
        kind=clean(details.kind),
        name=clean(details.name, 253),
        causes=tuple(
            Cause(clean(cause.field), clean(cause.reason), clean(cause.message, LONGEST_MESSAGE))
            for cause in causes
        ),
    )


def without_value(message: str) -> str:
    """Return the message without a long invalid value, but with the reason why it is invalid.

    A 422 quotes the value: the whole object for an unknown field (`fieldValidation=Strict`), the whole pod template
    with the environment of its containers for an immutable one. Go writes such values as JSON without a space after
    colons, so the reason follows the last colon with a space.
    """
    before, marker, value_and_reason = message.partition(_INVALID)
    if not marker or len(value_and_reason) <= LONGEST_VALUE:
        return message
    reason = value_and_reason.rpartition(": ")[2].rstrip("]")
    # If the message ends with the value, this is a part of the value.
    if (
        len(reason) > LONGEST_VALUE
        or any(character in reason for character in "{}\\")
        or reason.count('"') % 2
    ):
        reason = "the server quotes a long value, which is left out here"
    return f"{before}{_INVALID}…: {reason}"
