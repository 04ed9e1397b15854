"""Replacing the key that encrypts cluster credentials."""

from __future__ import annotations

import io
from typing import Any

import pytest
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.core.management import CommandError, call_command

from gangboard.store import clusters
from gangboard.store.models import AuditEntry, Cluster
from gangboard.store.secrets import SecretUnreadableError, unseal

pytestmark = pytest.mark.django_db

OLD, NEW, LOST = (Fernet.generate_key().decode() for _ in range(3))
READER, ACTOR = {"server": "https://e", "token": "sesame-r"}, {"server": "https://e", "token": "a"}


def rotate() -> str:
    out = io.StringIO()
    call_command("rotate_keys", stdout=out, no_color=True)
    return out.getvalue()


@pytest.fixture
def east(settings: Any) -> Cluster:
    """A cluster whose two credentials the old key has encrypted."""
    settings.ENCRYPTION_KEYS = (OLD,)
    clusters.add_cluster(name="east", document=READER, server="https://e")
    clusters.set_actor(name="east", document=ACTOR, server="https://e", by="ada")
    clusters.add_cluster(name="west", document=READER, server="https://w")
    return Cluster.objects.get(name="east")


def test_all_credentials_are_encrypted_with_the_newest_key(east: Cluster, settings: Any) -> None:
    settings.ENCRYPTION_KEYS = (NEW, OLD)
    assert unseal(bytes(east.credentials)) == READER, "the old key still reads"
    assert rotate() == "3 stored credentials are encrypted with the first key.\n"
    assert AuditEntry.objects.filter(event="keys-rotated").count() == 1
    settings.ENCRYPTION_KEYS = (NEW,)
    east.refresh_from_db()
    assert unseal(bytes(east.credentials)) == READER
    assert unseal(bytes(east.actor_credentials or b"")) == ACTOR
    with pytest.raises(InvalidToken):
        Fernet(OLD).decrypt(bytes(east.credentials))


def test_an_interrupted_rotation_can_be_repeated(
    east: Cluster, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ENCRYPTION_KEYS = (NEW, OLD)
    real, calls = MultiFernet.encrypt, []

    def killed(keys: MultiFernet, data: bytes) -> bytes:
        calls.append(data)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(keys, data)

    with monkeypatch.context() as patched:
        patched.setattr(MultiFernet, "encrypt", killed)
        with pytest.raises(KeyboardInterrupt):
            rotate()
    east.refresh_from_db()
    assert unseal(bytes(east.actor_credentials or b"")) == ACTOR
    assert rotate().startswith("3 ")
    settings.ENCRYPTION_KEYS = (NEW,)
    for cluster in Cluster.objects.all():
        assert unseal(bytes(cluster.credentials)) == READER


def test_undecryptable_credentials_are_named_and_stay(east: Cluster, settings: Any) -> None:
    settings.ENCRYPTION_KEYS = (LOST,)
    clusters.replace_credentials(name="west", document=READER, server="https://w")
    settings.ENCRYPTION_KEYS = (NEW, OLD)
    with pytest.raises(CommandError, match=r"^No key reads the credentials of west\.") as caught:
        rotate()
    assert "sesame" not in str(caught.value)
    settings.ENCRYPTION_KEYS = (NEW,)
    east.refresh_from_db()
    assert unseal(bytes(east.credentials)) == READER
    with pytest.raises(SecretUnreadableError):
        unseal(bytes(Cluster.objects.get(name="west").credentials))
    settings.ENCRYPTION_KEYS = (LOST,)
    assert unseal(bytes(Cluster.objects.get(name="west").credentials)) == READER
