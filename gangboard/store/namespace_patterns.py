"""Namespace patterns in roles. `team-*` covers each namespace that begins with `team-`.

`*` stands for any text, also the empty one. Every other character stands for itself. The database compares in
SQL (`namespace__matches=`), Python with `matches`, and both must agree.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import CharField, Lookup
from django.db.models.sql.compiler import SQLCompiler

ANY = "*"
MOST_STARS = 3
"""Maximum number of `*`. Each one multiplies the ways in which a name is compared."""
LONGEST_PATTERN = 63
_PATTERN = re.compile(r"[a-z0-9*](?:[-a-z0-9*]*[a-z0-9*])?")
_OF_GLOB = re.compile(r"[?\[]")
_OF_LIKE = re.compile(r"[\\%_]")


def is_pattern(namespace: str) -> bool:
    """Return whether a text covers several namespaces. Namespace names contain no `*`."""
    return ANY in namespace


def is_valid_pattern(text: str) -> bool:
    """Return whether a text may be stored as a pattern.

    A pattern has the characters of a name and is not `*` alone. So it never covers the empty namespace, which
    stands for nodes and other cluster-scoped objects.
    """
    return (
        len(text) <= LONGEST_PATTERN
        and text.count(ANY) <= MOST_STARS
        and _PATTERN.fullmatch(text) is not None
        and bool(text.strip(ANY))
    )


def matches(pattern: str, namespace: str) -> bool:
    """Return whether a pattern covers a namespace."""
    return _compiled(pattern).fullmatch(namespace) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split(ANY))), re.DOTALL)


if TYPE_CHECKING:
    _Lookup = Lookup[Any]
else:
    _Lookup = Lookup  # Generic in its type stubs only.


@CharField.register_lookup
class MatchesPattern(_Lookup):
    """`namespace__matches="team-*"`. It uses LIKE, but GLOB on SQLite, whose LIKE ignores case."""

    lookup_name = "matches"

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, tuple[Any, ...]]:
        """Return the condition with LIKE."""
        escaped = _OF_LIKE.sub(r"\\\g<0>", str(self.rhs))
        return self._compare("LIKE", escaped.replace(ANY, "%"), compiler, connection)

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, tuple[Any, ...]]:
        """Return the condition with GLOB."""
        escaped = _OF_GLOB.sub(r"[\g<0>]", str(self.rhs))
        return self._compare("GLOB", escaped, compiler, connection)

    def _compare(
        self, operator: str, text: str, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, tuple[Any, ...]]:
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} {operator} %s", (*parameters, text)
