"""The four users of access tests: owner, reader, stranger and anonymous."""

from __future__ import annotations

import time
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.test import Client

from gangboard.store.access import Viewer, viewer_of
from gangboard.store.models import Cluster, Grant

PASSWORD = "correct horse battery staple"


@dataclass(frozen=True)
class Person:
    """A user with its viewer and a browser that is signed in."""

    user: User
    client: Client

    @property
    def viewer(self) -> Viewer:
        """The current permissions of the user."""
        return viewer_of(self.user)


def _person(name: str) -> Person:
    user = User.objects.create_user(name, password=PASSWORD)
    client = Client()
    client.force_login(user)
    session = client.session
    session["signed_in_at"] = time.time()
    session.save()
    return Person(user, client)


def make_owner(name: str = "olga") -> Person:
    """Make an admin of everything."""
    person = _person(name)
    Grant.objects.create(user=person.user, role="admin", cluster=None, namespace="")
    return person


def make_reader(cluster: Cluster, namespace: str = "research", name: str = "rene") -> Person:
    """Make a viewer of one namespace of one cluster."""
    person = _person(name)
    Grant.objects.create(user=person.user, role="viewer", cluster=cluster, namespace=namespace)
    return person


def make_operator(cluster: Cluster, namespace: str = "research", name: str = "oda") -> Person:
    """Make an operator of one namespace of one cluster."""
    person = _person(name)
    Grant.objects.create(user=person.user, role="operator", cluster=cluster, namespace=namespace)
    return person


def make_stranger(name: str = "stan") -> Person:
    """Make a signed-in user without a role."""
    return _person(name)
