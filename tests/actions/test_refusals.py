"""Refusals by the cluster, the rights or a switch: no request is sent, and the sentence names the reason."""

from __future__ import annotations

from collections.abc import Callable

from django.utils import timezone

from gangboard.actions import service
from gangboard.store import authentication
from gangboard.store.access import viewer_of
from gangboard.store.models import AccessToken, Action, Cluster, Grant, Switch
from tests.actions.site import Site, untouched


def ended(site: Site, action_id: str) -> Action:
    return site.engine().finish(action_id)


def test_an_action_without_the_policy_is_refused(start: Callable[..., Site]) -> None:
    site = start(hold=False)
    untouched(site, site.act(), "refused", "print_rbac")


def test_an_action_without_an_actor_is_refused(start: Callable[..., Site]) -> None:
    site = start(actor=False)
    untouched(site, site.act(), "refused", "no actor")


def test_a_withdrawn_role_stops_the_action(site: Site) -> None:
    action = site.request()
    Grant.objects.update(role="viewer")
    untouched(site, ended(site, action), "refused", "Permission withdrawn")


def test_a_disabled_user_stops_the_action(site: Site) -> None:
    action = site.request()
    site.user.is_active = False
    site.user.save()
    untouched(site, ended(site, action), "refused", "disabled")


def test_a_removed_user_stops_the_action(site: Site) -> None:
    action = site.request()
    site.user.delete()
    untouched(site, ended(site, action), "refused", "no longer has an account")


def by_token(site: Site) -> tuple[str, str]:
    """Ask by a token that may act; return the token and the action."""
    token = authentication.issue_token(user=site.user, may_act=True)
    known = authentication.find_token(token)
    assert known is not None
    viewer = viewer_of(site.user, may_act=known.may_act, token=known.id)
    accepted = service.request(
        viewer, site.action_request(), now=site.clock.now(), clock=site.clock
    )
    return token, accepted.action_id


def test_a_valid_token_acts(site: Site) -> None:
    _, action = by_token(site)
    assert ended(site, action).state == "verified"


def test_a_revoked_token_stops_the_action(site: Site) -> None:
    token, action = by_token(site)
    authentication.revoke_token(token)
    untouched(site, ended(site, action), "refused", "the token of olga")


def test_an_expired_token_stops_the_action(site: Site) -> None:
    _, action = by_token(site)
    AccessToken.objects.update(expires_at=timezone.now())
    untouched(site, ended(site, action), "refused", "the token of olga")


def test_a_token_revoked_during_the_action_stops_the_remaining_steps(site: Site) -> None:
    token, action = by_token(site)

    def revoke(boundary: str) -> None:
        if boundary == "create-hold:recorded":
            authentication.revoke_token(token)

    done = site.engine(checkpoint=revoke).finish(action)
    assert (done.state, site.suspended(), site.holds()) == ("refused", False, [])
    assert "the token of olga" in done.message


def test_the_global_switch_stops_the_action(site: Site) -> None:
    action = site.request()
    Switch.objects.create(name="read-only", is_on=True, changed_at=timezone.now())
    untouched(site, ended(site, action), "refused", "read-only")


def test_the_switch_of_a_cluster_stops_the_action(site: Site) -> None:
    action = site.request()
    Cluster.objects.update(read_only=True)
    untouched(site, ended(site, action), "refused", "read-only")
