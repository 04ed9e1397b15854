"""The columns, the tiles and the lines of the Board."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gangboard.pages.core.columns import Column, optional_columns
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.gangs import GangRow
from gangboard.readmodels.state_labels import Face

USE_COLUMN = "use"
"""Key of the column that needs a Prometheus."""
COLUMNS = (
    Column("status", "Status", "status", sort="health"),
    Column("gang", "Gang", template="board/cells/gang.html", sort="name", is_row_header=True),
    Column("why", "Reason and next step", template="board/cells/why.html"),
    Column("queue", "Queue", "queue", choice=3, shown_at_first=False),
    Column("submitter", "Submitter", "submitter", choice=6, shown_at_first=False),
    Column("priority", "Priority", "priority", sort="priority", choice=1, shown_at_first=False),
    Column("members", "Ready", template="board/cells/ready.html"),
    Column("accelerators", "Accelerators", "accelerators", sort="-accelerators", choice=2),
    Column(USE_COLUMN, "Accelerator use", "use_text", choice=6, shown_at_first=False),
    Column("restarts", "Restarts", "restarts", "restarts_text", choice=4, shown_at_first=False),
    Column("created", "Created", "created_at", sort="-created_at", choice=5, shown_at_first=False),
    Column("since", "For", template="frame/standing.html", dash_if="gone_at", sort="since"),
)
"""Styles hide an optional column that is empty in every row."""
OPTIONAL = optional_columns(COLUMNS)
OPTIONAL_KEYS = tuple(column.key for column in OPTIONAL)
MOST_LABEL_COLUMNS = 6
LONGEST_LABEL_KEY = 317
_LABEL = "label:"
_LABELS_BEFORE = 3
"""Label columns stand behind the reason, in front of this position of COLUMNS."""
CSV_COLUMNS = (
    *("id", "cluster", "namespace", "api_group", "kind", "name"),
    *("health", "since", "since_first_seen", "stage", "code", "title", "message", "next_step"),
    *("members_known", "members.desired", "members.quorum", "members.created", "members.scheduled"),
    *("members.ready", "members.succeeded", "members.failed", "members.held"),
    *("accelerators", "use_percent", "queue", "priority", "restarts", "created_at"),
    *("submitter", "submitter_source", "labels"),
    *("observed_at", "stale", "gone_at"),
)
"""Attributes of a GangRow in the CSV file. The last part of a name is the heading."""


def label_column(key: str) -> Column:
    """Return the column with the values of one label."""
    name = key.rpartition("/")[2]
    return Column(f"{_LABEL}{key}", printable(name), "labels", item=key, css_name="label")


def label_key_of(column: str) -> str:
    """Return the label of a column `label:KEY`. Empty for another column and for an impossible label."""
    key = column.removeprefix(_LABEL) if column.startswith(_LABEL) else ""
    is_usable = key.isprintable() and len(key) <= LONGEST_LABEL_KEY and "," not in key
    return key if is_usable else ""


def chosen_columns(names: Iterable[str]) -> tuple[str, ...]:
    """Return the optional columns among these names: those of OPTIONAL in its order, then the labels."""
    names = tuple(names)
    labels = dict.fromkeys(name for name in names if label_key_of(name))
    known = (key for key in OPTIONAL_KEYS if key in names)
    return (*known, *tuple(labels)[:MOST_LABEL_COLUMNS])


def columns_with(names: Iterable[str]) -> tuple[Column, ...]:
    """Return the columns of the Board with those of the labels among these names."""
    labels = (label_column(key) for name in names if (key := label_key_of(name)))
    return (*COLUMNS[:_LABELS_BEFORE], *labels, *COLUMNS[_LABELS_BEFORE:])


@dataclass(frozen=True, slots=True)
class Tile:
    """How many gangs have one health."""

    face: Face
    gangs: int | None
    """Null if there is no gang and no cluster of the filter has been read yet."""
    accelerators: float
    last_succeeded: int = 0
    """Those of them that had succeeded when last seen."""
    note: str = ""
    """A remark that stands in place of the number of accelerators."""
    in_use: float = 0.0
    """Those of the accelerators that pods on nodes have, for suspended gangs of which a part runs."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The values of the filters: what occurs among the gangs that the viewer may see."""

    clusters: tuple[str, ...]
    namespaces: tuple[str, ...]
    kinds: tuple[str, ...]
    queues: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """The line above the rows of one group."""

    key: str
    title: str
    face: Face | None
    gangs: int
    accelerators: float
    """Accelerators that the gangs request, suspended and ended ones included."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: a heading or a gang."""

    id: str
    heading: Heading | None = None
    row: GangRow | None = None

    @property
    def shown(self) -> object:
        """Return the printed values without ages."""
        return self.heading if self.row is None else self.row.shown


@dataclass(frozen=True, slots=True)
class Board:
    """Everything on the Board but the frame around every page."""

    tiles: tuple[Tile, ...]
    choices: Choices
    lines: tuple[Line, ...]
    next_cursor: str | None
    total: int | None
    """Gangs that the filters leave, on all pages. Null as in `Tile.gangs`."""
    hidden: int
    """Succeeded gangs that are left out."""
