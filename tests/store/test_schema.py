"""Tables from before the first release are refused and not migrated."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from gangboard.store.database_state import is_migrated


@pytest.mark.django_db
def test_tables_older_than_the_first_release_are_refused() -> None:
    assert is_migrated()
    call_command("migrate", verbosity=0)
    MigrationRecorder(connection).record_applied("store", "0002_actions")
    assert not is_migrated()
    kind = "file" if connection.vendor == "sqlite" else "database"
    name = connection.settings_dict["NAME"]
    with pytest.raises(CommandError, match=f"Remove the {kind} .* or name another one") as caught:
        call_command("migrate", verbosity=0)
    assert str(name) in str(caught.value)


@pytest.mark.django_db
def test_the_models_have_no_change_without_a_migration() -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)
