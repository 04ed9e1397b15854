"""Refused for what the cluster, the person or a switch says: nothing is sent, and the sentence says why."""

from __future__ import annotations

from collections.abc import Callable

from django.utils import timezone

from gangboard.store.models import Action, Cluster, Grant, Switch
from tests.actions.site import Site, untouched


def ended(site: Site, action_id: str) -> Action:
    return site.engine().finish(action_id)


def test_without_the_policy_it_is_refused(start: Callable[..., Site]) -> None:
    site = start(hold=False)
    untouched(site, site.act(), "refused", "print_rbac")


def test_without_an_actor_it_is_refused(start: Callable[..., Site]) -> None:
    site = start(actor=False)
    untouched(site, site.act(), "refused", "no actor")


def test_a_role_that_was_withdrawn_meanwhile(site: Site) -> None:
    action = site.request()
    Grant.objects.update(role="viewer")
    untouched(site, ended(site, action), "refused", "Permission withdrawn")


def test_a_person_who_was_disabled_meanwhile(site: Site) -> None:
    action = site.request()
    site.user.is_active = False
    site.user.save()
    untouched(site, ended(site, action), "refused", "disabled")


def test_a_person_who_was_removed_meanwhile(site: Site) -> None:
    action = site.request()
    site.user.delete()
    untouched(site, ended(site, action), "refused", "no account")


def test_the_switch_of_everything(site: Site) -> None:
    action = site.request()
    Switch.objects.create(name="read-only", is_on=True, changed_at=timezone.now())
    untouched(site, ended(site, action), "refused", "read-only")


def test_the_switch_of_a_cluster(site: Site) -> None:
    action = site.request()
    Cluster.objects.update(read_only=True)
    untouched(site, ended(site, action), "refused", "read-only")
