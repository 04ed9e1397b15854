"""Database triggers that make the audit append-only.

The head can only move to the next row of the chain, which must exist already.

A migration that recreates one of the tables on SQLite loses its triggers and must call `guard` or
`guard_head` again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SENTENCE = "rows of the audit are only ever added"
_HEAD_SENTENCE = "the head of the audit only ever moves to the next row"
_NEXT_ROW = """NEW.id = OLD.id AND NEW.number = OLD.number + 1 AND EXISTS (
    SELECT 1 FROM store_auditentry WHERE number = NEW.number AND digest = NEW.digest)"""

STATEMENTS = {
    "sqlite": (
        f"""CREATE TRIGGER audit_no_update BEFORE UPDATE ON store_auditentry
        BEGIN SELECT RAISE(ABORT, '{_SENTENCE}'); END""",
        f"""CREATE TRIGGER audit_no_delete BEFORE DELETE ON store_auditentry
        BEGIN SELECT RAISE(ABORT, '{_SENTENCE}'); END""",
        # REPLACE deletes rows without firing the DELETE trigger.
        """CREATE TRIGGER audit_no_replace BEFORE INSERT ON store_auditentry
        WHEN EXISTS (SELECT 1 FROM store_auditentry WHERE id = NEW.id OR number = NEW.number)
        BEGIN SELECT RAISE(ABORT, 'rows of the audit are only ever added'); END""",
    ),
    "postgresql": (
        f"""CREATE OR REPLACE FUNCTION gangboard_audit_guard() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION '{_SENTENCE}'; END $$""",
        """CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON store_auditentry
        FOR EACH ROW EXECUTE FUNCTION gangboard_audit_guard()""",
        """CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON store_auditentry
        FOR EACH STATEMENT EXECUTE FUNCTION gangboard_audit_guard()""",
    ),
}
"""By Django's vendor name of the database."""


HEAD_STATEMENTS = {
    "sqlite": (
        f"""CREATE TRIGGER audit_head_update BEFORE UPDATE ON store_audithead WHEN NOT ({_NEXT_ROW})
        BEGIN SELECT RAISE(ABORT, '{_HEAD_SENTENCE}'); END""",
        f"""CREATE TRIGGER audit_head_delete BEFORE DELETE ON store_audithead
        BEGIN SELECT RAISE(ABORT, '{_HEAD_SENTENCE}'); END""",
        # Also refuses REPLACE.
        f"""CREATE TRIGGER audit_head_insert BEFORE INSERT ON store_audithead
        WHEN EXISTS (SELECT 1 FROM store_audithead)
        BEGIN SELECT RAISE(ABORT, '{_HEAD_SENTENCE}'); END""",  # noqa: S608  # fixed texts
    ),
    "postgresql": (
        f"""CREATE OR REPLACE FUNCTION gangboard_audit_head_guard() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN
            IF TG_OP = 'UPDATE' THEN
                IF {_NEXT_ROW} THEN RETURN NEW; END IF;
            ELSIF TG_OP = 'INSERT' THEN
                IF NOT EXISTS (SELECT 1 FROM store_audithead) THEN RETURN NEW; END IF;
            END IF;
            RAISE EXCEPTION '{_HEAD_SENTENCE}';
        END $$""",  # noqa: S608  # fixed texts
        """CREATE TRIGGER audit_head_change BEFORE INSERT OR UPDATE OR DELETE ON store_audithead
        FOR EACH ROW EXECUTE FUNCTION gangboard_audit_head_guard()""",
        """CREATE TRIGGER audit_head_truncate BEFORE TRUNCATE ON store_audithead
        FOR EACH STATEMENT EXECUTE FUNCTION gangboard_audit_head_guard()""",
    ),
}
"""By Django's vendor name of the database."""


def guard(connection: Any) -> None:
    """Create the triggers of the audit rows."""
    _execute(connection, STATEMENTS)


def guard_head(connection: Any) -> None:
    """Create the triggers of the audit head."""
    _execute(connection, HEAD_STATEMENTS)


def _execute(connection: Any, statements: Mapping[str, tuple[str, ...]]) -> None:
    with connection.cursor() as cursor:
        for statement in statements[connection.vendor]:
            cursor.execute(statement)
