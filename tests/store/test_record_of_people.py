"""Changes of roles and sign-ins: each is a row of the audit."""

from __future__ import annotations

import getpass
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from gangboard.ops.database_command import command_author
from gangboard.store import authentication, clusters, people, rate_limits
from gangboard.store.audit import verify
from gangboard.store.models import AccessToken, Attempts, AuditEntry
from tests.personas import PASSWORD, Person, make_owner

pytestmark = pytest.mark.django_db

OPS = "ada (manage.py)"
Line = tuple[str, str, str, str]


def lines() -> list[Line]:
    """Return (event, who, about, sentence) of each line, and that the chain holds."""
    assert verify().broken == ""
    rows = AuditEntry.objects.order_by("number")
    return list(rows.values_list("event", "actor_name", "object_name", "sentence"))


def test_changes_of_a_user_are_audited() -> None:
    user, _ = people.create_user(name="bob", role="viewer", namespace="team-a", by=OPS)
    people.grant_role(user=user, role="viewer", namespace="team-a", by=OPS)  # has it already
    link = authentication.create_sign_in_link(user=user, by=OPS)
    token = authentication.issue_token(user=user, may_act=True, days=7, by=OPS)
    public = token.rpartition("_")[0]
    authentication.revoke_token(token, by=OPS)
    people.remove_role(name="bob", role="viewer", namespace="team-a", by=OPS)
    people.disable_user(name="bob", by=OPS)
    people.create_user(name="bob", role="admin", by=OPS)
    where = "team-a on every cluster"
    assert lines() == [
        (event, OPS, "User/bob", sentence)
        for event, sentence in (
            ("user-made", "The account of bob was created."),
            ("role-given", f"bob is viewer of {where} from now on."),
            ("link-made", "A one-time sign-in link for bob was created."),
            ("token-made", f"Token {public} of bob was created: it may act for 7 days."),
            ("token-revoked", f"Token {public} of bob was revoked."),
            ("role-taken", f"bob is no longer viewer of {where}."),
            (
                "user-disabled",
                "bob was disabled: sessions, password, links, tokens and roles have ended.",
            ),
            ("user-enabled", "The account of bob was enabled again."),
            ("role-given", "bob is admin of everything from now on."),
        )
    ]
    rows = str(list(AuditEntry.objects.values()))
    assert link not in rows
    assert token.rpartition("_")[2] not in rows


def test_tokens_revoked_together_are_named() -> None:
    user, _ = people.create_user(name="bob", role="viewer")
    tokens = {authentication.issue_token(user=user).rpartition("_")[0] for _ in range(2)}
    authentication.revoke_tokens(name="bob", by=OPS)
    revoked = {sentence for event, _, _, sentence in lines() if event == "token-revoked"}
    assert revoked == {f"Token {token} of bob was revoked." for token in tokens}


def test_a_failed_change_is_not_audited() -> None:
    for wrong in (
        lambda: people.create_user(name="bob", role="god", by=OPS),
        lambda: people.remove_role(name="bob", role="viewer", by=OPS),
        lambda: people.disable_user(name="bob", by=OPS),
        lambda: authentication.revoke_token("gb_0", by=OPS),
        lambda: clusters.remove_cluster(name="east", by=OPS),
    ):
        with pytest.raises((people.PeopleError, clusters.ClusterError)):
            wrong()
    assert lines() == []


def test_changes_of_a_cluster_are_audited() -> None:
    server = "https://east"
    clusters.add_cluster(name="east", document={}, server=server, by=OPS)
    clusters.replace_credentials(name="east", document={}, server=server, by=OPS)
    clusters.set_actor(name="east", document={}, server=server, by=OPS)
    clusters.set_read_only(name="east", on=True, by=OPS)
    clusters.remove_cluster(name="east", by=OPS)
    assert [(event, actor) for event, actor, _, _ in lines()] == [
        ("cluster-added", OPS),
        ("cluster-changed", OPS),
        ("switch", OPS),
        ("switch", OPS),
        ("cluster-removed", OPS),
    ]
    assert set(AuditEntry.objects.values_list("cluster_name", flat=True)) == {"east"}


# --- passwords that are set by a command


def type_in(monkeypatch: pytest.MonkeyPatch, *typed: str) -> None:
    """Answer one prompt after the other."""
    answers = iter(typed)
    monkeypatch.setattr(getpass, "getpass", lambda *_, **__: next(answers))


def change_password(name: str = "olga") -> str:
    out = StringIO()
    call_command("changepassword", name, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_a_password_set_by_a_command_is_audited(
    olga: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, *["opal-marmot-quilt-72"] * 2)
    change_password()
    ((event, who, about, sentence),) = lines()
    assert (event, about) == ("password-changed", "User/olga")
    assert sentence == "The password of olga was changed."
    assert who == command_author()
    assert "opal-marmot" not in str(list(AuditEntry.objects.values()))
    assert olga.client.get("/api/v1/gangs/").status_code == 401, "older sessions have ended"
    assert sign_in("opal-marmot-quilt-72").status_code == 302


def test_an_invalid_password_changes_nothing(olga: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    for typed, sentence in (
        ((*("short",) * 2, "opal-marmot-quilt-72", "another", *("password1234",) * 2), "3 tries"),
        (("",), "no password was given"),
    ):
        type_in(monkeypatch, *typed)
        with pytest.raises(CommandError, match=sentence):
            change_password()
    with pytest.raises(CommandError, match="there is no user 'eve'"):
        change_password("eve")
    assert lines() == []
    assert sign_in().status_code == 302


def test_a_disabled_account_gets_no_password(olga: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    people.disable_user(name="olga")
    type_in(monkeypatch, *["opal-marmot-quilt-72"] * 2)
    with pytest.raises(CommandError, match="is disabled; manage"):
        change_password()
    people.create_user(name="olga", role="viewer")
    assert sign_in("opal-marmot-quilt-72").status_code == 403


def test_account_creation_is_audited() -> None:
    with pytest.raises(CommandError, match="create_user NAME --role admin"):
        call_command("createsuperuser")


# --- signing in


def sign_in(password: str = PASSWORD, *, name: str = "olga", address: str = "198.51.100.1") -> Any:
    return Client(REMOTE_ADDR=address).post("/sign-in/", {"name": name, "password": password})


@pytest.fixture
def olga() -> Person:
    return make_owner()


def sources() -> list[tuple[str, str, str]]:
    assert verify().broken == ""
    rows = AuditEntry.objects.order_by("number")
    return list(rows.values_list("event", "actor_name", "source"))


def test_sign_ins_and_sign_outs_are_audited_with_their_address(olga: Person) -> None:
    client = Client(REMOTE_ADDR="198.51.100.1")
    client.post("/sign-in/", {"name": "olga", "password": PASSWORD})
    client.post("/sign-out/")
    client.post("/sign-out/")  # no user is signed in any more
    secret = authentication.create_sign_in_link(user=olga.user)
    Client(REMOTE_ADDR="203.0.113.7").get(f"/sign-in/link/{secret}/")
    for _ in range(2):
        Client(REMOTE_ADDR="203.0.113.7").post("/sign-in/link/", {"secret": secret})
    assert sources() == [
        ("signed-in", "olga", "198.51.100.1"),
        ("signed-out", "olga", "198.51.100.1"),
        ("link-made", "gangboard", ""),
        ("signed-in", "olga", "203.0.113.7"),
        ("sign-in-failed", "somebody", "203.0.113.7"),
    ]
    sentences = [sentence for *_, sentence in lines()]
    assert sentences[0] == "olga signed in by a password."
    assert sentences[3] == "olga signed in by a link."


def test_the_first_and_last_of_a_series_of_wrong_passwords_are_audited(
    olga: Person,
) -> None:
    for _ in range(authentication.MOST_WRONG_PASSWORDS + 5):
        sign_in("wrong")
    assert lines() == [
        ("sign-in-failed", "somebody", "User/olga", "A wrong password was given for olga."),
        (
            "sign-in-failed",
            "somebody",
            "User/olga",
            "10 wrong passwords were given for olga within five minutes.",
        ),
    ]


def test_an_unknown_user_name_is_not_audited_because_it_may_be_a_password() -> None:
    sign_in("x", name="my-secret-password")
    ((_, _, about, sentence),) = lines()
    assert (about, sentence) == ("", "A wrong password was given for an unknown name.")
    assert "my-secret-password" not in str(list(AuditEntry.objects.values()))


def test_a_flood_of_failures_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authentication, "FAILURES_ON_RECORD", 5)
    for number in range(1200):
        authentication.record_failed_sign_in(
            name=f"u{number}", source=f"2001:db8::{number:x}", number=1
        )
    sentences = [sentence for *_, sentence in lines()]
    assert len(sentences) == 6
    assert sentences[5] == "1,000 sign-ins have failed within an hour, this one among them."
    rate_limits.reset_rate_limit("failed sign-ins")  # an hour later
    authentication.record_failed_sign_in(name="u", source="", number=1)
    assert len(lines()) == 7


# --- tokens that are not valid


def present(token: str, address: str = "198.51.100.1") -> None:
    client = Client(REMOTE_ADDR=address)
    answer = client.get("/api/v1/gangs/", headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 401


def refusals() -> list[tuple[str, str, str]]:
    """Return (about, sentence, source) of each line on a token that was refused."""
    assert verify().broken == ""
    rows = AuditEntry.objects.filter(event="token-refused").order_by("number")
    assert set(rows.values_list("actor_name", flat=True)) <= {"somebody"}
    return list(rows.values_list("object_name", "sentence", "source"))


def test_admins_see_the_reason_for_a_refused_token(olga: Person) -> None:
    tokens = [authentication.issue_token(user=olga.user) for _ in range(4)]
    public = [token.rpartition("_")[0] for token in tokens]
    wrong, expired, revoked, good = tokens
    AccessToken.objects.filter(pk=public[1].removeprefix("gb_")).update(expires_at=timezone.now())
    authentication.revoke_token(revoked)
    wrong = f"{public[0]}_{'0' * 64}"
    for number, token in enumerate(
        (wrong, expired, revoked, "my-secret-password", "gb_x\x00y_z", "")
    ):
        present(token, f"198.51.100.{number}")
    olga.user.is_active = False
    olga.user.save()
    present(good, "198.51.100.9")
    nobody = "An unknown or revoked token was presented."
    assert refusals() == [
        (
            "User/olga",
            f"Token {public[0]} of olga was presented with a wrong secret.",
            "198.51.100.0",
        ),
        (
            "User/olga",
            f"Token {public[1]} of olga was presented after it had expired.",
            "198.51.100.1",
        ),
        (
            "",
            f"An unknown or revoked token, {public[2]}, was presented.",
            "198.51.100.2",
        ),
        ("", nobody, "198.51.100.3"),
        ("", nobody, "198.51.100.4"),
        ("", nobody, "198.51.100.5"),
        (
            "User/olga",
            f"Token {public[3]} of olga was presented, whose account is disabled.",
            "198.51.100.9",
        ),
    ]
    rows = str(list(AuditEntry.objects.values()))
    assert "my-secret-password" not in rows
    assert not [token for token in tokens if token.rpartition("_")[2] in rows]


def test_valid_and_missing_tokens_are_not_audited(olga: Person) -> None:
    token = authentication.issue_token(user=olga.user)
    client = Client(headers={"authorization": f"Bearer {token}"})
    assert client.get("/api/v1/gangs/").status_code == 200
    assert Client().get("/api/v1/gangs/").status_code == 401
    assert refusals() == []


def test_repeated_use_of_an_expired_token_is_audited_as_counts(olga: Person) -> None:
    token = authentication.issue_token(user=olga.user)
    public = token.rpartition("_")[0]
    authentication.revoke_token(token)
    for _ in range(25):
        present(token)
    first, tenth = (sentence for _, sentence, _ in refusals())
    assert first == f"An unknown or revoked token, {public}, was presented."
    assert tenth == f"{first} It was invalid request 10 from there within an hour."
    present(token, "203.0.113.7")
    assert len(refusals()) == 3, "another sender is another matter"
    Attempts.objects.update(ends_at=timezone.now() - timedelta(seconds=1))  # an hour later
    present(token)
    assert len(refusals()) == 4


def test_a_flood_of_wrong_tokens_grows_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authentication, "FAILURES_ON_RECORD", 5)
    monkeypatch.setattr(authentication, "REFUSED_TOKENS_COUNTED", 20)
    for number in range(1100):
        authentication.record_refused_token(
            f"gb_{number:016x}_x", source="", sender=f"sender {number}"
        )
    found = refusals()
    assert len(found) == 6
    assert found[5][1] == ("1,000 requests with invalid tokens were refused within an hour.")
    assert Attempts.objects.count() == 22
    authentication.record_failed_sign_in(name="eve", source="", number=1)
    assert lines()[-1][0] == "sign-in-failed", "wrong passwords are counted by themselves"


# --- who may read it


def test_admins_see_sign_ins_with_their_source_and_others_do_not(olga: Person) -> None:
    sign_in()
    page = olga.client.get("/actions/audit/?event=signed-in").content.decode()
    assert "olga signed in by a password." in page
    assert "198.51.100.1" in page
    assert '<option value="role-given"' in page
    user, _ = people.create_user(name="vera", role="viewer")
    client = Client()
    client.force_login(user)
    page = client.get("/actions/audit/").content.decode()
    assert "signed in by" not in page
    assert "198.51.100.1" not in page
    assert "role-given" not in page


def test_an_export_contains_sign_ins_and_is_audited(olga: Person) -> None:
    sign_in()
    answer: Any = olga.client.post("/actions/audit/export.jsonl?event=signed-in")
    text = answer.getvalue().decode()
    assert '"sentence": "olga signed in by a password."' in text
    assert '"source": "198.51.100.1"' in text
    assert AuditEntry.objects.get(number=1).digest in text
    assert lines()[-1][3] == "The audit was exported as jsonl: event=signed-in."
    answer = olga.client.post("/actions/audit/export.csv")
    assert answer.getvalue().decode().startswith('"number","at","event","actor","source"')
    assert olga.client.get("/actions/audit/export.csv").status_code == 405
    assert olga.client.post("/actions/audit/export.xml").status_code == 404
