"""The audit: rows that stay as they were written, and a chain that shows where one did not."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from gangboard.store.audit import AuditLostError, audit, verify
from gangboard.store.clusters import remove_cluster
from gangboard.store.models import AuditEntry, AuditHead
from tests.emptying import lift_guard
from tests.factories import make_cluster
from tests.separate_process import run_python

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 20, 9, 30, 0, 250_000, tzinfo=UTC)


def write(number: int) -> None:
    for index in range(number):
        audit("switch", f"line {index}", at=NOW, actor="ada", source="198.51.100.1")


def execute(statement: str, *values: int) -> None:
    """Run SQL in a savepoint, as the product's own role."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)


def test_a_row_has_its_own_and_the_previous_hash() -> None:
    cluster = make_cluster("east")
    write(1)
    audit(
        "denied",
        "no — née",
        at=NOW,
        actor="ada",
        cluster=cluster,
        namespace="team-a",
        object_name="Job/train",
        details={"via": "api", "tries": (1, 2)},
    )
    first, second = AuditEntry.objects.order_by("number")
    # Written down by hand, so that a later release cannot change it unnoticed.
    fields = (
        '{"action_id":null,"actor_name":"ada","at":"2026-11-20T09:30:00.250000+00:00",'
        f'"cluster_id":{cluster.pk},"cluster_name":"east","details":{{"tries":[1,2],"via":"api"}},'
        '"event":"denied","namespace":"team-a","number":2,"object_name":"Job/train",'
        '"sentence":"no \\u2014 n\\u00e9e","source":""}'
    )
    assert json.loads(fields)["sentence"] == second.sentence
    assert second.digest == sha256(f"{first.digest}\n{fields}".encode()).hexdigest()
    head = AuditHead.objects.get()
    assert (head.number, head.digest) == (2, second.digest)


REFUSED = [
    "UPDATE store_auditentry SET sentence = 'nothing happened' WHERE number = 2",
    "UPDATE store_auditentry SET digest = ''",
    "DELETE FROM store_auditentry WHERE number = 2",
    "DELETE FROM store_auditentry",
]
if connection.vendor == "sqlite":  # no other database knows these words
    REFUSED += [
        "REPLACE INTO store_auditentry SELECT * FROM store_auditentry WHERE number = 1",
        "INSERT OR REPLACE INTO store_auditentry (id, number, digest, at, actor_name, source, event,"
        " cluster_name, namespace, object_name, sentence, details)"
        " SELECT 999, number, digest, at, 'eve', source, event, cluster_name, namespace,"
        " object_name, sentence, details FROM store_auditentry WHERE number = 2",
    ]


@pytest.mark.parametrize("statement", REFUSED)
def test_the_database_refuses_to_change_a_row(statement: str) -> None:
    write(3)
    with pytest.raises(DatabaseError, match="only ever added"):
        execute(statement)
    assert AuditEntry.objects.count() == 3
    assert verify().broken == ""


def test_models_refuse_to_change_a_row() -> None:
    write(2)
    row = AuditEntry.objects.get(number=1)
    row.sentence = "nothing happened"
    for change in (
        row.save,
        row.delete,
        AuditEntry.objects.all().delete,
        lambda: AuditEntry.objects.update(actor_name="eve"),
    ):
        with pytest.raises(DatabaseError, match="only ever added"), transaction.atomic():
            change()
    assert verify().broken == ""


def test_audit_rows_survive_the_removal_of_a_cluster() -> None:
    cluster = make_cluster("east")
    audit("switch", "read-only is on", at=NOW, actor="ada", cluster=cluster)
    before = AuditEntry.objects.values().get(event="switch", sentence="read-only is on")
    remove_cluster(name="east")
    assert AuditEntry.objects.values().get(pk=before["id"]) == before
    assert verify().broken == ""


def test_an_empty_audit_is_intact() -> None:
    assert (verify().rows, verify().broken) == (0, "")


def drop_row(number: int) -> Callable[[], None]:
    return lambda: execute("DELETE FROM store_auditentry WHERE number = %s", number)


def change_row(number: int) -> Callable[[], None]:
    statement = "UPDATE store_auditentry SET actor_name = 'eve' WHERE number = %s"
    return lambda: execute(statement, number)


def add_row() -> None:
    execute(
        "INSERT INTO store_auditentry (number, digest, at, actor_name, source, event, cluster_name,"
        " namespace, object_name, sentence, details) SELECT 6, digest, at, 'eve', source, event,"
        " cluster_name, namespace, object_name, sentence, details FROM store_auditentry"
        " WHERE number = 5"
    )


def set_head(number: int) -> None:
    AuditHead.objects.update(number=number)


def empty_it() -> None:
    """Remove all rows, and the head that counts them."""
    AuditEntry.objects.all().delete()
    AuditHead.objects.all().delete()


def write_anew(*, head: bool) -> None:
    """Change row 2 and recompute all hashes, like an attacker who knows our code."""
    AuditEntry.objects.filter(number=2).update(actor_name="eve")
    rows = list(AuditEntry.objects.order_by("number"))
    AuditEntry.objects.all().delete()
    number, digest = AuditHead.objects.values_list("number", "digest").get()
    AuditHead.objects.update(number=0, digest="")
    for row in rows:
        audit(
            row.event,
            row.sentence,
            at=row.at,
            actor=row.actor_name,
            source=row.source,
            details=row.details,
        )
    if not head:
        AuditHead.objects.update(number=number, digest=digest)


@pytest.mark.parametrize(
    ("tamper", "fits", "sentence"),
    [
        (change_row(1), 0, "Row 1 (switch, 2026-11-20 09:30:00 UTC) was changed."),
        (change_row(3), 2, "Row 3 (switch, 2026-11-20 09:30:00 UTC) was changed, or row 2 was."),
        (change_row(5), 4, "Row 5 (switch"),
        (drop_row(1), 0, "Row 1 is missing."),
        (drop_row(3), 2, "Row 3 is missing."),
        (lambda: [drop_row(n)() for n in (2, 3, 4)], 1, "Rows 2 to 4 are missing."),
        (drop_row(5), 4, "The end is cut off: the head says 5, the last row here is 4."),
        (
            lambda: execute("DELETE FROM store_auditentry"),
            0,
            "The end is cut off: the head says 5, the last row here is 0.",
        ),
        (lambda: AuditHead.objects.all().delete(), 5, "The head is gone"),
        (lambda: empty_it(), 0, "The head is gone"),
        (lambda: AuditHead.objects.create(), 5, "There are 2 heads"),
        (lambda: set_head(4), 5, "Row 5 was added by hand: the head says that 4 is the last."),
        (lambda: set_head(6), 5, "The end is cut off: the head says 6, the last row here is 5."),
        (lambda: AuditHead.objects.update(digest="0" * 64), 5, "Row 5 is not the last one"),
        (add_row, 5, "Row 6 (switch"),
        (lambda: write_anew(head=False), 5, "Row 5 is not the last one that was written"),
    ],
)
def test_the_first_altered_row_is_named(
    tamper: Callable[[], object], fits: int, sentence: str
) -> None:
    write(5)
    lift_guard()
    tamper()
    result = verify()
    assert result.broken.startswith(sentence)
    assert result.rows == fits
    with pytest.raises(CommandError) as caught:
        call_command("verify_audit", stdout=StringIO())
    assert sentence in str(caught.value)


def test_a_recorded_head_reveals_a_rewritten_chain() -> None:
    write(5)
    noted = said_head()
    write(2)
    call_command("verify_audit", "--head", noted, stdout=StringIO())
    lift_guard()
    write_anew(head=True)
    assert verify().broken == "", "without the note nobody could tell"
    with pytest.raises(CommandError, match="Row 5 differs from the noted one"):
        call_command("verify_audit", "--head", noted, stdout=StringIO())
    empty_it()
    with pytest.raises(CommandError, match="row 5 was noted, the last one here is 0"):
        call_command("verify_audit", "--head", noted, stdout=StringIO())


def said_head() -> str:
    printed = StringIO()
    call_command("verify_audit", stdout=printed)
    return printed.getvalue().splitlines()[-1]


@pytest.mark.parametrize("wrong", ["5", "x:y", "5:abc", ":"])
def test_an_invalid_head_is_refused(wrong: str) -> None:
    with pytest.raises(CommandError, match="a head is NUMBER:HASH"):
        call_command("verify_audit", "--head", wrong)


@pytest.mark.parametrize("rows", [0, 1])
def test_appending_needs_a_head(rows: int) -> None:
    write(rows)
    lift_guard()
    AuditHead.objects.all().delete()
    with pytest.raises(AuditLostError):
        write(1)


HEAD_REFUSED = [
    "UPDATE store_audithead SET number = 2",
    "UPDATE store_audithead SET number = 2, digest = (SELECT digest FROM store_auditentry WHERE number = 2)",
    "UPDATE store_audithead SET number = 0, digest = ''",
    "UPDATE store_audithead SET number = 4",
    "UPDATE store_audithead SET number = 9",
    "UPDATE store_audithead SET digest = ''",
    "UPDATE store_audithead SET id = 99",
    "DELETE FROM store_audithead",
    "INSERT INTO store_audithead (id, number, digest) VALUES (99, 0, '')",
]
if connection.vendor == "sqlite":
    HEAD_REFUSED.append("REPLACE INTO store_audithead SELECT id, 0, '' FROM store_audithead")


@pytest.mark.parametrize("statement", HEAD_REFUSED)
def test_the_database_moves_the_head_only_to_the_next_row(statement: str) -> None:
    write(3)
    before = AuditHead.objects.values().get()
    with pytest.raises(DatabaseError, match="only ever moves to the next row"):
        execute(statement)
    assert AuditHead.objects.values().get() == before
    write(1)
    assert (verify().rows, verify().broken) == (4, "")


def test_a_head_hash_without_rows_means_tampering() -> None:
    lift_guard()
    AuditHead.objects.update(digest="0" * 64)
    assert verify().broken == "The head was changed: it has a hash, and there is no row."


# In a process of its own, because each thread needs a real connection to a real database.
SCRIPT = """
import django
django.setup()
from concurrent.futures import ThreadPoolExecutor
from django.db import DatabaseError, connection, transaction
from django.utils import timezone
from gangboard.store.audit import audit, verify
from gangboard.store.clusters import add_cluster, set_read_only
from gangboard.store.models import AuditEntry

add_cluster(name="east", document={}, server="https://east")
before = AuditEntry.objects.count()

def append(number):
    try:
        for turn in range(10):
            if number % 2:
                audit("switch", f"{number} {turn}", at=timezone.now(), actor="ada", details={"a": 0.1})
            else:
                set_read_only(name="east", on=turn % 2 == 0, by="ben")
    finally:
        connection.close()

with ThreadPoolExecutor(6) as pool:
    list(pool.map(append, range(6)))
found = verify()
refused = 0
statements = ["UPDATE store_auditentry SET event = 'x'", "DELETE FROM store_auditentry"]
statements += [
    "DELETE FROM store_audithead",
    "UPDATE store_audithead SET number = number - 1",
    "UPDATE store_audithead SET number = number - 1, digest ="
    " (SELECT digest FROM store_auditentry WHERE number = store_audithead.number - 1)",
    "UPDATE store_audithead SET number = number + 1",
    "UPDATE store_audithead SET digest = ''",
    "INSERT INTO store_audithead (id, number, digest) VALUES (99, 0, '')",
]
if connection.vendor == "postgresql":
    statements += ["TRUNCATE store_auditentry", "TRUNCATE store_auditentry CASCADE", "TRUNCATE store_audithead"]
for statement in statements:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    except DatabaseError as error:
        refused += "the audit " in str(error) and "only ever " in str(error)
again = verify()
assert (again.rows, again.broken) == (found.rows, ""), again
print(found.rows - before, repr(found.broken), len(statements) - refused)
"""


def outcome(folder: Path, database_url: str = "") -> str:
    return run_python("-c", SCRIPT, database_url=database_url, folder=folder)


def test_concurrent_appends_work_on_sqlite(tmp_path: Path) -> None:
    assert outcome(tmp_path) == "60 '' 0"


@pytest.mark.services
def test_concurrent_appends_work_on_postgresql(postgres_url: str, tmp_path: Path) -> None:
    assert outcome(tmp_path, postgres_url) == "60 '' 0"
