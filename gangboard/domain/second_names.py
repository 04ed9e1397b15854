"""What is said of a second name for a cluster, and the same without the first name.

The poller stores the sentence. Viewers who may not see the first cluster read it without its name.
"""

from __future__ import annotations

_IS = " is this cluster already: "
_HIDDEN = "A cluster you may not see"


def second_name_sentence(first: str, second: str) -> str:
    """Return why nothing is read through the name `second`: the cluster is watched as `first`."""
    return f"{first}{_IS}both have the same kube-system namespace. Nothing is read twice. Remove {second}."


def first_name(sentence: str) -> str:
    """Return the name that such a sentence begins with; empty for any other sentence."""
    name, found, _ = sentence.partition(_IS)
    return name if found else ""


def without_first_name(sentence: str) -> str:
    """Return such a sentence without the name it begins with; any other sentence unchanged."""
    name = first_name(sentence)
    return f"{_HIDDEN}{sentence.removeprefix(name)}" if name else sentence
