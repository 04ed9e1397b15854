"""What keeps rows of the audit as they were written: triggers of the database itself.

A migration that makes the table anew on SQLite loses them there, and has to call `guard` again.
"""

from __future__ import annotations

from typing import Any

_SENTENCE = "rows of the audit are only ever added"

STATEMENTS = {
    "sqlite": (
        f"""CREATE TRIGGER audit_no_update BEFORE UPDATE ON store_auditentry
        BEGIN SELECT RAISE(ABORT, '{_SENTENCE}'); END""",
        f"""CREATE TRIGGER audit_no_delete BEFORE DELETE ON store_auditentry
        BEGIN SELECT RAISE(ABORT, '{_SENTENCE}'); END""",
        # REPLACE deletes without the trigger of DELETE.
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
"""By what Django calls the database."""


def guard(connection: Any) -> None:
    """Make the triggers."""
    with connection.cursor() as cursor:
        for statement in STATEMENTS[connection.vendor]:
            cursor.execute(statement)
