"""What a search finds gangs by: rows of words, written as the gangs are."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db.models import Q
from django.db.models.fields.json import KeyTextTransform
from django.db.models.lookups import Exact

from gangboard.store.access import Viewer
from gangboard.store.bulk_statements import upsert_rows
from gangboard.store.models import Cluster, Gang, GangSearch

LABEL = "label:"
"""Begins a word that asks for a label: `label:team` or `label:team=nlp`."""
_COLUMNS = ("gang_id", "cluster_id", "names", "said", "sentence")
_PLACE = ("namespace", "kind", "queue")


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
    """What names something in a stored Detail; the decoder skips everything else."""

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
    """Insert or update what these gangs are found by; each has the columns of its row."""
    upsert_rows(GangSearch._meta.db_table, _COLUMNS, ("gang_id",), [_row(one) for one in gangs])


def index_deleted_gangs(gang_uids: Collection[str], *, cluster_id: int) -> None:
    """Let deleted gangs be found by their own name and place only: their pods and sentence are past."""
    rows = Gang.objects.filter(cluster_id=cluster_id, uid__in=gang_uids)
    gone = rows.values("id", "cluster_id", "name", *_PLACE)
    values = [
        (one["id"], one["cluster_id"], _text((one["name"], _place(one))), "", "") for one in gone
    ]
    upsert_rows(GangSearch._meta.db_table, _COLUMNS, ("gang_id",), values)


def _row(gang: Mapping[str, Any]) -> tuple[str, int, str, str, str]:
    detail = bytes(gang["detail"])
    found = _decoder.decode(detail) if detail else _Names()
    names = dict.fromkeys(name for name in (gang["name"], *found) if name)
    return (
        gang["id"],
        gang["cluster_id"],
        _text((*names, _place(gang))),
        _text((gang["title"], gang["code"])),
        _text((gang["message"],)),
    )


def _place(gang: Mapping[str, Any]) -> str:
    """Return namespace, kind and queue in one line: none of them names a single gang."""
    return " ".join(gang[column] for column in _PLACE)


def _text(lines: Iterable[str]) -> str:
    """Return lines, each between two line ends, so that a name can be looked for as a whole."""
    # PostgreSQL refuses NUL, and no name of Kubernetes has one.
    return f"\n{chr(10).join(lines)}\n".lower().replace("\x00", "")


def matches_words(words: Iterable[str], viewer: Viewer, silent: Collection[int]) -> Q:
    """Return the condition on gangs in which each of the words occurs, in upper or lower case.

    Stored sentences have all names in them. Who sees less than the whole cluster is shown them without
    some, and must not learn those by asking for them. What was said of gangs of a `silent` cluster (ids)
    is not on the page any more, so it is not found either.
    """
    is_said = ~Q(cluster_id__in=silent) if silent else Q()
    condition, plain = Q(), list[str]()
    labels = Q()
    for word in words:
        if word.startswith(LABEL):
            key, _, value = word.removeprefix(LABEL).partition("=")
            labels &= has_label(key, value if "=" in word else None)
        else:
            plain.append(word.lower())
    for word in plain:
        named = Q(cluster__in=Cluster.objects.filter(name__contains=word))
        said = Q(said__contains=word)
        said |= Q(sentence__contains=word) & viewer.whole_cluster_filter()
        condition &= Q(names__contains=word) | named | (said & is_said)
    found = Q(pk__in=GangSearch.objects.filter(condition).values("pk")) if condition else Q()
    return found & labels


class _LabelValue(KeyTextTransform):
    """The value of a label. Django takes a key of digits for a place in a list, which a label key never is."""

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        lhs, params, _ = self.preprocess_lhs(compiler, connection)
        return f"({lhs} ->> %s)", (*params, self.key_name)

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> tuple[str, tuple[Any, ...]]:
        lhs, params, _ = self.preprocess_lhs(compiler, connection)
        return f"JSON_EXTRACT({lhs}, %s)", (*params, f"$.{json.dumps(self.key_name)}")


def has_label(key: str, value: str | None = None) -> Q:
    """Return the condition on gangs that have a label, with this value if one is given."""
    # PostgreSQL refuses NUL, and no label has one.
    if "\x00" in key or "\x00" in (value or ""):
        return Q(pk__in=[])
    if value is None:
        return Q(labels__has_key=key)
    return Q(Exact(_LabelValue(key, "labels"), value))


def has_name(name: str) -> Q:
    """Return the condition on gangs that have exactly this name, or a Job, pod, group or node of it."""
    found = GangSearch.objects.filter(names__contains=f"\n{name.lower()}\n")
    return Q(pk__in=found.values("pk"))
