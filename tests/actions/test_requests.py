"""Validation of requests: fields, rights, identity and idempotency. No request is sent to a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User

from gangboard.actions import service
from gangboard.actions.requests import (
    MOST_AT_ONCE,
    AcceptedRequest,
    RequestError,
    RequestErrorCode,
)
from gangboard.store import actions
from gangboard.store.access import viewer_of
from gangboard.store.models import Action, AuditEntry, Grant
from tests.actions.site import NAMESPACE, WORKER, Site


def refused(site: Site, **options: object) -> RequestError:
    with pytest.raises(RequestError) as caught:
        site.request(**options)  # type: ignore[arg-type]
    return caught.value


@pytest.mark.parametrize("reason", ["", "  ", " ab ", "x" * 1025])
def test_a_request_needs_a_reason(site: Site, reason: str) -> None:
    assert refused(site, reason=reason).code is RequestErrorCode.INVALID


def test_an_invalid_end_is_refused(site: Site) -> None:
    now = site.clock.now()
    naive = datetime(2030, 1, 1)
    for until in (naive, now - timedelta(seconds=1), now + timedelta(days=31)):
        assert refused(site, until=until).code is RequestErrorCode.INVALID
    assert site.request(until=now + timedelta(hours=1))


def test_a_request_is_stored_with_its_audit_entry(site: Site) -> None:
    before = site.cluster.data_version
    accepted = service.request(
        site.viewer,
        site.action_request(reason="  the loss \n explodes "),
        now=site.clock.now(),
        clock=site.clock,
    )
    action = Action.objects.get(pk=accepted.action_id)
    assert (action.state, action.reason, action.actor_name) == (
        "requested",
        "the loss explodes",
        "olga",
    )
    entry = AuditEntry.objects.get(action=action)
    assert (entry.event, entry.namespace, entry.object_name) == (
        "requested",
        NAMESPACE,
        f"Job/{WORKER}",
    )
    site.cluster.refresh_from_db()
    assert site.cluster.data_version > before
    assert site.wire.changes == []


def test_the_row_returns_the_request(site: Site) -> None:
    action_request = site.action_request(
        idempotency_key="k", until=site.clock.now() + timedelta(hours=1), via="page"
    )
    accepted = service.request(site.viewer, action_request, now=site.clock.now(), clock=site.clock)
    assert actions.read_request(Action.objects.get(pk=accepted.action_id)) == action_request


def test_an_equal_key_returns_the_same_action(site: Site) -> None:
    first = service.request(
        site.viewer,
        site.action_request(idempotency_key="k"),
        now=site.clock.now(),
        clock=site.clock,
    )
    repeated = service.request(
        site.viewer,
        site.action_request(idempotency_key="k"),
        now=site.clock.now(),
        clock=site.clock,
    )
    assert (first.action_id, first.created, repeated.created) == (repeated.action_id, True, False)
    error = refused(site, idempotency_key="k", reason="another reason")
    assert (error.code, error.action_id) == (RequestErrorCode.KEY_REUSED, first.action_id)
    assert Action.objects.count() == 1


def test_an_equal_key_returns_the_same_action_after_a_change_of_the_object(site: Site) -> None:
    action_request = site.action_request(idempotency_key="k")
    first = service.request(site.viewer, action_request, now=site.clock.now(), clock=site.clock)
    site.engine().finish(first.action_id)
    site.poll()
    repeated = service.request(site.viewer, action_request, now=site.clock.now(), clock=site.clock)
    assert repeated == AcceptedRequest(first.action_id, created=False)


def test_an_object_has_one_open_action(site: Site) -> None:
    first = site.request()
    error = refused(site, verb="resume")
    assert (error.code, error.action_id) == (RequestErrorCode.BUSY, first)
    assert "olga" in str(error)
    assert site.request(name="train-workers-1")


def test_an_object_hidden_from_the_user_is_missing(site: Site) -> None:
    Grant.objects.all().delete()
    Grant.objects.create(user=site.user, role="operator", cluster=site.cluster, namespace="other")
    hidden = refused(site)
    Grant.objects.all().delete()
    Grant.objects.create(user=site.user, role="operator", cluster=site.cluster, namespace="")
    missing = site.action_request()
    missing = replace(missing, target=replace(missing.target, name="no-such"))
    with pytest.raises(RequestError) as caught:
        service.request(site.viewer, missing, now=site.clock.now(), clock=site.clock)
    assert hidden.code is caught.value.code is RequestErrorCode.NOT_FOUND
    assert str(hidden).replace(WORKER, "") == str(caught.value).replace("no-such", "")
    assert not AuditEntry.objects.filter(event="denied").exists()


def test_a_denied_viewer_is_audited(site: Site) -> None:
    Grant.objects.update(role="viewer")
    assert refused(site).code is RequestErrorCode.FORBIDDEN
    entry = AuditEntry.objects.get(event="denied")
    assert (entry.actor_name, entry.namespace, entry.object_name) == (
        "olga",
        NAMESPACE,
        f"Job/{WORKER}",
    )
    assert Action.objects.count() == 0


def test_a_read_only_token_is_denied(site: Site) -> None:
    viewer = viewer_of(site.user, may_act=False)
    with pytest.raises(RequestError) as caught:
        service.request(viewer, site.action_request(), now=site.clock.now(), clock=site.clock)
    assert caught.value.code is RequestErrorCode.FORBIDDEN
    assert AuditEntry.objects.filter(event="denied").count() == 1


def test_only_admins_may_force(site: Site) -> None:
    assert refused(site, forced=True).code is RequestErrorCode.FORBIDDEN
    Grant.objects.update(role="admin")
    assert site.request(forced=True)


def test_unknown_kinds_are_invalid(site: Site) -> None:
    action_request = site.action_request()
    action_request = replace(
        action_request, target=replace(action_request.target, kind="Pod", api_group="")
    )
    with pytest.raises(RequestError) as caught:
        service.request(site.viewer, action_request, now=site.clock.now(), clock=site.clock)
    assert caught.value.code is RequestErrorCode.INVALID


def test_a_preview_sends_and_stores_nothing(site: Site) -> None:
    site.wire.seen.clear()
    plan = service.preview(site.viewer, site.action_request(reason=""), now=site.clock.now())
    assert (plan.allowed, plan.lever, len(plan.steps)) == (True, "hold", 3)
    assert site.wire.seen == []
    assert Action.objects.count() == 0
    assert not AuditEntry.objects.filter(actor_name="olga").exists()


def test_a_preview_without_the_hold_says_why_not(start: Callable[..., Site]) -> None:
    site = start(hold=False)
    plan = service.preview(site.viewer, site.action_request(), now=site.clock.now())
    assert not plan.allowed
    assert "print_rbac" in plan.needs


def test_a_batch_is_accepted_item_by_item(site: Site) -> None:
    action_requests = [
        site.action_request(),
        site.action_request(name="train-workers-1"),
        site.action_request(name="train-driver-0", generation=None, uid="gone"),
    ]
    batch, results = service.request_many(
        site.viewer, action_requests, now=site.clock.now(), clock=site.clock
    )
    assert [bool(result.action_id) for result in results] == [True, True, False]
    assert "gone" in results[2].refused
    assert Action.objects.filter(batch=batch).count() == 2
    for wrong in ([], [site.action_request()] * 51):
        with pytest.raises(RequestError):
            service.request_many(site.viewer, wrong, now=site.clock.now(), clock=site.clock)


def test_an_export_is_audited(site: Site) -> None:
    assert service.begin_export(site.viewer, "olga exported.", now=site.clock.now()) == 0
    assert AuditEntry.objects.get(actor_name="olga").event == "export"


def test_a_user_runs_one_export_at_a_time_and_started_exports_are_audited(site: Site) -> None:
    service.begin_export(site.viewer, "olga exported.", now=site.clock.now())
    assert service.begin_export(site.viewer, "olga exported.", now=site.clock.now()) > 0
    assert AuditEntry.objects.filter(event="export").count() == 1
    service.end_export(site.viewer)
    assert service.begin_export(site.viewer, "olga exported.", now=site.clock.now()) == 0


def test_two_largest_confirmations_fit_into_a_minute_and_a_third_does_not(site: Site) -> None:
    action_requests = [site.action_request(uid="gone")] * MOST_AT_ONCE
    for _ in range(2):
        service.request_many(site.viewer, action_requests, now=site.clock.now(), clock=site.clock)
    with pytest.raises(RequestError) as caught:
        service.request_many(site.viewer, action_requests, now=site.clock.now(), clock=site.clock)
    assert caught.value.code is RequestErrorCode.TOO_MANY
    assert 0 < caught.value.wait <= 60
    assert "20 are left" in str(caught.value)
    assert site.request(), "what still fits is taken"


def test_refusals_count_and_audit_writes_are_limited(site: Site) -> None:
    stan = viewer_of(User.objects.create_user("stan"))
    Grant.objects.create(user_id=stan.user_id, role="viewer", cluster=None, namespace="")
    stan = viewer_of(User.objects.get(username="stan"))
    codes = []
    for _ in range(service.MOST_A_MINUTE + 5):
        with pytest.raises(RequestError) as caught:
            service.request(stan, site.action_request(), now=site.clock.now(), clock=site.clock)
        codes.append(caught.value.code)
    assert (
        codes
        == [RequestErrorCode.FORBIDDEN] * service.MOST_A_MINUTE + [RequestErrorCode.TOO_MANY] * 5
    )
    assert AuditEntry.objects.filter(event="denied").count() == service.MOST_A_MINUTE
    assert site.request(), "each person counts alone"


def test_another_user_cannot_stop_a_batch(site: Site) -> None:
    batch, _ = service.request_many(
        site.viewer, [site.action_request()], now=site.clock.now(), clock=site.clock
    )
    stranger = viewer_of(User.objects.create_user("stan"))
    assert service.stop_batch(stranger, batch, now=site.clock.now(), clock=site.clock) == 0
