"""Sentences about a cluster that gangboard does not read, because it is silent or has a second name."""

from __future__ import annotations

from datetime import UTC, datetime

_IS = " is this cluster already: "
_HIDDEN = "A cluster you may not see"


def silent_since_text(problem: str) -> str:
    """Return the verb before "since" for a silent cluster. `problem` is the code of the last error.

    Without an error gangboard sent no request, because no poll worker has a slot for the cluster. The text then
    does not blame the cluster.
    """
    return "has not answered" if problem else "has not been read"


def always_silent_text(problem: str) -> str:
    """Return the verb for a cluster that has never answered."""
    return "has never answered" if problem else "has not been read yet"


def silent_text(problem: str) -> str:
    """Return the verb for a cluster that is silent now."""
    return "does not answer" if problem else "is not being read"


def silence_sentence(cluster: str, contact_at: datetime | None, problem: str) -> str:
    """Return the sentence that says why a silent cluster accepts no action.

    It has a time instead of an age, because pages do not render it again as time passes.
    """
    if contact_at is None:
        return f"Cluster {cluster} {always_silent_text(problem)}."
    since = contact_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"Cluster {cluster} {silent_since_text(problem)} since {since}."


def second_name_sentence(first: str, second: str) -> str:
    """Return the sentence that says why gangboard does not read the cluster under its second name.

    The poller stores the sentence. Viewers without access to the first cluster see it without that name.
    """
    return f"{first}{_IS}both have the same kube-system namespace. Nothing is read twice. Remove {second}."


def first_name(sentence: str) -> str:
    """Return the first name in a sentence of `second_name_sentence`. Any other sentence gives an empty text."""
    name, separator, _ = sentence.partition(_IS)
    return name if separator else ""


def without_first_name(sentence: str) -> str:
    """Return a sentence of `second_name_sentence` without the first name. Other sentences stay unchanged."""
    name = first_name(sentence)
    return f"{_HIDDEN}{sentence.removeprefix(name)}" if name else sentence
