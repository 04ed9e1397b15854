"""How sentences name and count things. Pure text: nothing is decided here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gangboard.domain.objects import ObjectRef
from gangboard.domain.pod import Pod

MOST_NAMED = 3
_LONGEST = 300
_LONGEST_QUOTE = 100
_DIGITS = re.compile(r"(\d+)")
"""Longer quotes drown the sentence; the whole text is always shown as evidence."""


def count(number: int, noun: str) -> str:
    """Return `1 pod`, `4 pods`; the noun is one that takes a plain s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def all_of(number: int, noun: str) -> str:
    """Return `both pods`, `all 4 pods`; `the pod` of a single one."""
    if number == 1:
        return f"the {noun}"
    return f"both {noun}s" if number == 2 else f"all {count(number, noun)}"


def sentence_case(text: str) -> str:
    """Return the text with a capital at its beginning."""
    return f"{text[:1].upper()}{text[1:]}"


def out_of(part: int, whole: int, noun: str) -> str:
    """Return `2 of 4 pods`, `0 of 1 pods`."""
    return f"{part} of {whole} {noun}s"


def names(found: Iterable[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`; of more than three the first two `and 5 more`."""
    several = list(found)
    if len(several) > MOST_NAMED:
        return f"{', '.join(several[:2])} and {len(several) - 2} more"
    return listed(several)


def listed(parts: Sequence[str]) -> str:
    """Return all of the parts: `a`, `a and b`, `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def for_each(text: str, kind: str, name: str) -> str:
    """Return a sentence about one object as one about all of its kind: `Each Job is held.`, `No Job can start.`"""
    named = rf"(^|\. )?{re.escape(f'{kind} {name}')}(?![\w-]|\.\w)"  # no longer name begins like it

    def each(found: re.Match[str]) -> str:
        begins = found[1] is not None
        return f"{found[1] or ''}{'Each' if begins else 'each'} {kind}"

    return re.sub(r"\b([Ee])ach (\S+) cannot\b", _none_can, re.sub(named, each, text))


def _none_can(found: re.Match[str]) -> str:
    return f"{'No' if found[1] == 'E' else 'no'} {found[2]} can"


def natural_key(name: str) -> tuple[tuple[str, int], ...]:
    """Return a sort key that puts `w-2` before `w-10`."""
    parts = _DIGITS.split(name)
    return tuple(
        (text, int(number[:18]) if number else -1)
        for text, number in zip(parts[::2], [*parts[1::2], ""], strict=True)
    )


def is_or_are(number: int) -> str:
    """Return the verb for that many."""
    return "is" if number == 1 else "are"


def plural(number: int, verb: str) -> str:
    """Return the verb for that many: `waits` for one, `wait` for several."""
    return f"{verb}s" if number == 1 else verb


def sentence(text: str) -> str:
    """Return the text with exactly one full stop at its end; empty text stays empty."""
    bare = text.strip().rstrip(" .,;:")
    if not bare:
        return ""
    return bare if bare[-1] in "!?…”" else f"{bare}."


def shorten(text: str) -> str:
    """Return the text on one line, cut at about 300 characters with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST].rstrip()}…"


def quote(text: str) -> str:
    """Return the text for a sentence: on one line, cut after its last word within 100 characters."""
    line = " ".join(text.split())
    if len(line) <= _LONGEST_QUOTE:
        return line
    cut = line[:_LONGEST_QUOTE]
    return f"{(cut.rpartition(' ')[0] or cut).rstrip(' ,;:')}…"


def quote_ends(text: str) -> str:
    """Return the text on one line with its middle left out beyond 100 characters.

    Wrapped errors have their cause at the end.
    """
    line = " ".join(text.split())
    if len(line) <= _LONGEST_QUOTE:
        return line
    head, tail = line[: _LONGEST_QUOTE // 3], line[-2 * _LONGEST_QUOTE // 3 :]
    return f"{head.rpartition(' ')[0] or head} … {tail.partition(' ')[2] or tail}"


def remaining_pods_text(pods: Iterable[Pod]) -> str:
    """Return `2 pods still terminate and 1 pod is still there` of the live ones; empty for none."""
    live = [pod for pod in pods if pod.is_live]
    ending = sum(pod.is_terminating for pod in live)
    staying = len(live) - ending
    texts = []
    if ending:
        texts.append(f"{count(ending, 'pod')} still {plural(ending, 'terminate')}")
    if staying:
        texts.append(f"{count(staying, 'pod')} {is_or_are(staying)} still there")
    return " and ".join(texts)


def staying_pods_sentence(pods: Iterable[Pod]) -> str:
    """Return ` 2 pods are still there.` of those that live on after the end of their owner; empty for none."""
    staying = sum(pod.is_live and not pod.is_terminating for pod in pods)
    return f" {count(staying, 'pod')} {is_or_are(staying)} still there." if staying else ""


def label(ref: ObjectRef) -> str:
    """Return `Job train`, `PodGroup ring`."""
    return f"{ref.kind} {ref.name}"
