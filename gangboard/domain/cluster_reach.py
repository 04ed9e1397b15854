"""Sentences about a cluster that gangboard does not read: it is silent, or watched under another name."""

from __future__ import annotations

from datetime import UTC, datetime

_IS = " is this cluster already: "
_HIDDEN = "A cluster you may not see"


def silent_since_text(problem: str) -> str:
    """Return the words before "since": no answer, or no read.

    Without a code of a problem gangboard has not sent a request: no poll worker runs, or none has a slot for the cluster.
    So the words do not blame the cluster.
    """
    return "has not answered" if problem else "has not been read"


def always_silent_text(problem: str) -> str:
    """Return the words for a cluster that has never answered."""
    return "has never answered" if problem else "has not been read yet"


def silent_text(problem: str) -> str:
    """Return the words for a cluster that is silent now."""
    return "does not answer" if problem else "is not being read"


def silence_sentence(cluster: str, contact_at: datetime | None, problem: str) -> str:
    """Return why a silent cluster takes no action.

    The sentence has a time and no age, because its text is not printed again as time passes.
    """
    if contact_at is None:
        return f"Cluster {cluster} {always_silent_text(problem)}."
    since = contact_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"Cluster {cluster} {silent_since_text(problem)} since {since}."


def second_name_sentence(first: str, second: str) -> str:
    """Return why nothing is read through the name `second`: the cluster is watched as `first`.

    The poller stores the sentence. Viewers who may not see the first cluster read it without its name.
    """
    return f"{first}{_IS}both have the same kube-system namespace. Nothing is read twice. Remove {second}."


def first_name(sentence: str) -> str:
    """Return the first name in a sentence of `second_name_sentence`, or empty for any other sentence."""
    name, found, _ = sentence.partition(_IS)
    return name if found else ""


def without_first_name(sentence: str) -> str:
    """Return a sentence of `second_name_sentence` without the first name. Any other sentence is unchanged."""
    name = first_name(sentence)
    return f"{_HIDDEN}{sentence.removeprefix(name)}" if name else sentence
