"""The search index of gangs: rows of words, written together with the gangs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db.models import Count, Q
from django.db.models.fields.json import KeyTextTransform
from django.db.models.lookups import Exact

from gangboard.store.access import Viewer
from gangboard.store.bulk_statements import upsert_rows
from gangboard.store.models import Cluster, Gang, GangSearch

LABEL = "label:"
"""Prefix of a search term for a label: `label:team` or `label:team=nlp`."""
_COLUMNS = ("gang_id", "cluster_id", "names", "labels", "submitter", "gone", "said", "sentence")
_PLACE = ("namespace", "kind", "queue")
_FACTS = ("id", "cluster_id", "name", "labels", "submitter", *_PLACE)
"""Columns of a gang that stay true after its deletion."""


@dataclass(frozen=True, slots=True)
class _Named:
    name: str = ""


@dataclass(frozen=True, slots=True)
class _Job:
    ref: _Named
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Member:
    ref: _Named
    node: str = ""


@dataclass(frozen=True, slots=True)
class _Names:
    """The names in a stored Detail. The decoder skips all other fields."""

    jobs: tuple[_Job, ...] = ()
    members: tuple[_Member, ...] = ()
    groups: tuple[_Named, ...] = ()

    def __iter__(self) -> Iterator[str]:
        for job in self.jobs:
            yield job.ref.name
            yield from job.nodes
        for member in self.members:
            yield member.ref.name
            yield member.node
        for group in self.groups:
            yield group.name


_decoder = msgspec.msgpack.Decoder(_Names)


def save_search(gangs: Sequence[Mapping[str, Any]]) -> None:
    """Insert or update the index rows of gangs, given as rows of the table."""
    upsert_rows(GangSearch._meta.db_table, _COLUMNS, ("gang_id",), [_row(gang) for gang in gangs])


def index_deleted_gangs(gang_uids: Collection[str], *, cluster_id: int) -> None:
    """Index deleted gangs by their own name and place only, because their pods and sentence are outdated."""
    rows = Gang.objects.filter(cluster_id=cluster_id, uid__in=gang_uids)
    values = [(*_facts(gang, ()), True, "", "") for gang in rows.values(*_FACTS)]
    upsert_rows(GangSearch._meta.db_table, _COLUMNS, ("gang_id",), values)


def _row(gang: Mapping[str, Any]) -> tuple[str | int, ...]:
    detail = bytes(gang["detail"])
    return (
        *_facts(gang, _decoder.decode(detail) if detail else ()),
        False,
        _join_lines((gang["title"], gang["code"])),
        _join_lines((gang["message"],)),
    )


def _facts(gang: Mapping[str, Any], members: Iterable[str]) -> tuple[str | int, ...]:
    """Return the columns before the verdict. `members`: names of its Jobs, pods, groups and nodes."""
    names = dict.fromkeys(name for name in (gang["name"], *members) if name)
    labels = [f"{key}={value}" for key, value in gang["labels"].items()]
    return (
        gang["id"],
        gang["cluster_id"],
        _join_lines((*names, _place_text(gang))),
        _join_lines(labels) if labels else "",
        gang["submitter"].lower(),
    )


def _place_text(gang: Mapping[str, Any]) -> str:
    """Return namespace, kind and queue on one line. A line with several words matches no exact name."""
    return " ".join(gang[column] for column in _PLACE)


def _join_lines(lines: Iterable[str]) -> str:
    """Return the lines, each between two line breaks, so that a whole name can be matched."""
    # PostgreSQL rejects NUL, and Kubernetes names have none.
    return f"\n{chr(10).join(lines)}\n".lower().replace("\x00", "")


def matches_words(
    terms: Iterable[str], viewer: Viewer, silent: Collection[int], *, gone: bool
) -> Q:
    """Return the condition on gangs that contain each of the words, ignoring case. `gone` includes deleted ones.

    Stored sentences contain all names. A viewer of a part of the cluster sees them with some names removed,
    and must not discover those by searching. The pages hide the verdicts of `silent` clusters (ids), so the
    search ignores them as well.
    """
    has_verdict = ~Q(cluster_id__in=silent) if silent else Q()
    condition, plain = Q(), list[str]()
    labels = Q()
    for term in terms:
        if term.startswith(LABEL):
            key, _, value = term.removeprefix(LABEL).partition("=")
            labels &= has_label(key, value if "=" in term else None)
        else:
            plain.append(term.lower())
    for term in plain:
        has_cluster_name = Q(cluster__in=Cluster.objects.filter(name__contains=term))
        in_verdict = Q(said__contains=term)
        in_verdict |= Q(sentence__contains=term) & viewer.whole_cluster_filter()
        in_facts = Q(names__contains=term) | Q(labels__contains=term) | Q(submitter__contains=term)
        condition &= in_facts | has_cluster_name | (in_verdict & has_verdict)
    gangs = _indexed(condition, gone=gone) if condition else Q()
    return gangs & labels


class _LabelValue(KeyTextTransform):
    """The value of a label. Django would take a key of digits for a list index, which a label key never is."""

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        lhs, params, _ = self.preprocess_lhs(compiler, connection)
        return f"({lhs} ->> %s)", (*params, self.key_name)

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, tuple[Any, ...]]:
        lhs, params, _ = self.preprocess_lhs(compiler, connection)
        return f"JSON_EXTRACT({lhs}, %s)", (*params, f"$.{json.dumps(self.key_name)}")


def _indexed(condition: Q, *, gone: bool) -> Q:
    """Return the condition on gangs whose index row meets the condition. `gone` includes deleted ones."""
    rows = GangSearch.objects.filter(condition)
    # Most rows are of deleted gangs, so a search for existing ones leaves them out by the index. An older release
    # does not mark a row when it deletes the gang, so a search for deleted ones reads all rows.
    return Q(pk__in=(rows if gone else rows.filter(gone=False)).values("pk"))


def has_label(key: str, value: str | None = None) -> Q:
    """Return the condition on gangs with a label, and with a value if one is given."""
    # PostgreSQL rejects NUL, and labels have none.
    if "\x00" in key or "\x00" in (value or ""):
        return Q(pk__in=[])
    if value is None:
        return Q(labels__has_key=key)
    return Q(Exact(_LabelValue(key, "labels"), value))


def has_submitter(names: Collection[str], *, gone: bool) -> Q:
    """Return the condition on gangs of these people or programs, ignoring case. `gone` includes deleted ones."""
    # PostgreSQL rejects NUL, and no submitter has one.
    lowered = {name.lower() for name in names if name and "\x00" not in name}
    return _indexed(Q(submitter__in=lowered), gone=gone)


def has_name(name: str) -> Q:
    """Return the condition on gangs with exactly this name, or with a Job, pod, group or node of this name."""
    matches = GangSearch.objects.filter(names__contains=f"\n{name.lower()}\n")
    return Q(pk__in=matches.values("pk"))


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """Labels of existing gangs."""

    rows: tuple[tuple[tuple[str, str], int], ...]
    """(key, value) and number of gangs, the most frequent first."""
    is_partial: bool
    """Whether further gangs were not counted."""


MOST_COUNTED = 2_000
"""Gangs whose labels are counted for one search."""


def count_labels(words: Collection[str], *, viewer: Viewer, most: int) -> LabelCounts:
    """Return the labels that contain all of these lower-case words as `key=value` (1 query)."""
    words = [word.removeprefix(LABEL) for word in words]
    indexed = _indexed(_contains_all("labels", words) & ~Q(labels=""), gone=False)
    gangs = Gang.objects.filter(viewer.gang_filter(), indexed, gone_at=None)
    labelled = list(gangs.order_by().values_list("labels", flat=True)[: MOST_COUNTED + 1])
    numbers = Counter(
        (str(key), str(value))
        for labels in labelled[:MOST_COUNTED]
        for key, value in labels.items()
        if all(word in f"{key}={value}".lower() for word in words)
    )
    ranked = sorted(numbers.items(), key=lambda row: (-row[1], row[0]))
    return LabelCounts(tuple(ranked[:most]), len(labelled) > MOST_COUNTED)


def count_submitters(
    words: Collection[str], *, viewer: Viewer, most: int
) -> tuple[tuple[str, int], ...]:
    """Return submitters that contain all of these lower-case words, with their existing gangs (1 query)."""
    indexed = _indexed(_contains_all("submitter", words) & Q(submitter__gt=""), gone=False)
    gangs = Gang.objects.filter(viewer.gang_filter(), indexed, gone_at=None)
    numbers = gangs.order_by().values_list("submitter").annotate(gangs=Count("*"))
    return tuple(numbers.order_by("-gangs", "submitter")[:most])


def _contains_all(column: str, words: Iterable[str]) -> Q:
    condition = Q()
    for word in words:
        condition &= Q(**{f"{column}__contains": word})
    return condition
