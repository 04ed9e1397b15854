"""Names, numbers and verbs in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gangboard.domain.objects import ObjectRef
from gangboard.domain.pod import Pod

MOST_NAMED = 3
_LONGEST = 300
_LONGEST_QUOTE = 100
"""Limit in characters. Longer quotes hide the sentence, and the evidence has the whole text."""
_DIGITS = re.compile(r"(\d+)")


def count(number: int, noun: str) -> str:
    """Return `1 pod` or `4 pods`. The plural of the noun must end in a plain s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def all_of(number: int, noun: str) -> str:
    """Return `the pod`, `both pods` or `all 4 pods`."""
    if number == 1:
        return f"the {noun}"
    return f"both {noun}s" if number == 2 else f"all {count(number, noun)}"


def sentence_case(text: str) -> str:
    """Return the text with an initial capital letter."""
    return f"{text[:1].upper()}{text[1:]}"


def out_of(number: int, total: int, noun: str) -> str:
    """Return `2 of 4 pods`, `0 of 1 pods`."""
    return f"{number} of {total} {noun}s"


def names(items: Iterable[str]) -> str:
    """Return `a`, `a and b` or `a, b and c`. More than three names become the first two `and 5 more`."""
    several = list(items)
    if len(several) > MOST_NAMED:
        return f"{', '.join(several[:2])} and {len(several) - 2} more"
    return listed(several)


def listed(items: Sequence[str]) -> str:
    """Return all items: `a`, `a and b`, `a, b and c`."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def for_each(text: str, kind: str, name: str) -> str:
    """Turn a sentence about one object into one about all of its kind: `Each Job is held.`, `No Job can start.`"""
    named = rf"(^|\. )?{re.escape(f'{kind} {name}')}(?![\w-]|\.\w)"  # not followed by more of a longer name

    def each(match: re.Match[str]) -> str:
        begins = match[1] is not None
        return f"{match[1] or ''}{'Each' if begins else 'each'} {kind}"

    return re.sub(r"\b([Ee])ach (\S+) cannot\b", _none_can, re.sub(named, each, text))


def _none_can(match: re.Match[str]) -> str:
    return f"{'No' if match[1] == 'E' else 'no'} {match[2]} can"


def natural_key(name: str) -> tuple[tuple[str, int], ...]:
    """Return a sort key that puts `w-2` before `w-10`."""
    chunks = _DIGITS.split(name)
    return tuple(
        (text, int(number[:18]) if number else -1)
        for text, number in zip(chunks[::2], [*chunks[1::2], ""], strict=True)
    )


def is_or_are(number: int) -> str:
    """Return `is` for one, `are` for several."""
    return "is" if number == 1 else "are"


def plural(number: int, verb: str) -> str:
    """Return the verb with the right ending: `waits` for one, `wait` for several."""
    return f"{verb}s" if number == 1 else verb


def does_not_fit(pods: int) -> str:
    """Return `1 pod does not fit on any node`."""
    return f"{count(pods, 'pod')} {'does' if pods == 1 else 'do'} not fit on any node"


def sentence(text: str) -> str:
    """Return the text with exactly one full stop at its end. Empty text stays empty."""
    bare = text.strip().rstrip(" .,;:")
    if not bare:
        return ""
    return bare if bare[-1] in "!?…”" else f"{bare}."


def shorten(text: str) -> str:
    """Return the text on one line, without its middle if it is longer than 300 characters.

    The end stays, because wrapped errors have their cause there.
    """
    return _keep_ends(text, _LONGEST)


def quote(text: str) -> str:
    """Return the text on one line for a sentence, without its middle if it is longer than 100 characters.

    The end stays, because wrapped errors have their cause there.
    """
    return _keep_ends(text, _LONGEST_QUOTE)


def _keep_ends(text: str, longest: int) -> str:
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    head, tail = line[: longest // 3], line[-(2 * longest // 3) :]
    return f"{head.rpartition(' ')[0] or head} … {tail.partition(' ')[2] or tail}"


def quote_list(text: str) -> str:
    """Return a list on one line for a sentence, cut after the last word within 100 characters.

    Its most important item must come first. Use `quote` for any other text.
    """
    line = " ".join(text.split())
    if len(line) <= _LONGEST_QUOTE:
        return line
    cut = line[:_LONGEST_QUOTE]
    return f"{(cut.rpartition(' ')[0] or cut).rstrip(' ,;:')}…"


def remaining_pods_text(pods: Iterable[Pod]) -> str:
    """Return `2 pods still terminate and 1 pod is still there` for the live pods. Empty if none is live."""
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
    """Return ` 2 pods are still there.` for live pods of a finished owner that do not terminate. Empty for none."""
    staying = sum(pod.is_live and not pod.is_terminating for pod in pods)
    return f" {count(staying, 'pod')} {is_or_are(staying)} still there." if staying else ""


def label(ref: ObjectRef) -> str:
    """Return kind and name of an object: `Job train`."""
    return f"{ref.kind} {ref.name}"
