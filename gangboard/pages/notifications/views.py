"""The page of messages, and the small pages about one channel, one rule and one gang."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gangboard.notify import channels, rules
from gangboard.notify.channels import NotifyError
from gangboard.notify.outbox import MOST_WAITING
from gangboard.notify.rules import RUNS
from gangboard.pages.core.auth import viewer_for
from gangboard.pages.core.forms import sentence_of
from gangboard.pages.core.fresh_sign_in import require_fresh
from gangboard.pages.core.layout import plain_page
from gangboard.pages.core.saved_forms import refill_form, saves_form
from gangboard.pages.notifications.forms import (
    HOURS,
    ChannelChangeForm,
    ChannelForm,
    GangRuleForm,
    MuteForm,
    NewRuleForm,
    RuleForm,
    TellForm,
)
from gangboard.pages.notifications.queries import (
    number_of,
    read_channel,
    read_channels,
    read_cluster_names,
    read_deliveries,
    read_gang,
    read_rule,
    read_rule_owner,
    read_rules,
)
from gangboard.pages.notifications.rows import ChannelRow
from gangboard.readmodels.formatting import printable
from gangboard.store.access import Viewer

NO_ADMIN = "Only an admin makes, changes, tests and removes channels."


@require_safe
def notifications(request: HttpRequest) -> HttpResponse:
    """Show channels, rules and messages."""
    viewer = viewer_for(request)
    rule_form = _rule_form(viewer, read_channels(viewer=viewer))
    return _page(
        request,
        viewer,
        rule_form=refill_form(rule_form, request, "notification-rules"),
        channel_form=refill_form(ChannelForm(), request, "notification-channels"),
    )


@saves_form("notifications", fields=("name", "kind", "used_by", "owner"), anchor="channels")
@require_POST
def make_channel(request: HttpRequest) -> HttpResponse:
    """Make a channel; the secret of a webhook is shown this once."""
    viewer, form = _admin(request), ChannelForm(request.POST)
    if again := require_fresh(request):
        return again
    if not form.is_valid():
        return _page(request, viewer, channel_form=form, status=400)
    try:
        channel, secret = channels.make_channel(viewer=viewer, **form.cleaned_data)
    except NotifyError as error:
        form.add_error(None, sentence_of(error))
        return _page(request, viewer, channel_form=form, status=409)
    if not secret:
        return _back("channels")
    return _page(request, viewer, secret=secret, secret_of=channel.name)


@require_http_methods(["GET", "HEAD", "POST"])
def change_channel(request: HttpRequest, channel_id: str) -> HttpResponse:
    """Show the settings of a channel without its address, and change them."""
    viewer, number = _admin(request), number_of(channel_id)
    row = read_channel(viewer=viewer, channel_id=number) if number is not None else None
    if row is None or number is None:
        raise Http404
    if again := require_fresh(request):
        return again
    whom = "everybody" if row.for_everybody else "person" if row.owner else "admins"
    initial = {"name": row.name, "used_by": whom, "owner": row.owner}
    form, status = ChannelChangeForm(_sent(request), initial=initial), 200
    if form.is_valid():
        try:
            if channels.change_channel(viewer=viewer, channel_id=number, **form.cleaned_data):
                return _back("channels")
            raise Http404  # removed meanwhile
        except NotifyError as error:
            form.add_error(None, sentence_of(error))
            status = 409
    context = {"channel": row, "form": form}
    return _form_page(request, viewer, "channel", context, form, status)


@require_POST
def test_channel(request: HttpRequest, channel_id: str) -> HttpResponse:
    """Order a test message."""
    viewer, number = _admin(request), number_of(channel_id)
    if number is None or channels.order_test(viewer=viewer, channel_id=number) is None:
        raise Http404
    return _back("messages")


@require_POST
def remove_channel(request: HttpRequest, channel_id: str) -> HttpResponse:
    """Remove a channel."""
    viewer, number = _admin(request), number_of(channel_id)
    if number is None or not channels.remove_channel(viewer=viewer, channel_id=number):
        raise Http404
    return _back("channels")


@saves_form("notifications", fields=(*RuleForm.base_fields, "for_admins"), anchor="rules")
@require_POST
def make_rule(request: HttpRequest) -> HttpResponse:
    """Make a rule."""
    viewer = viewer_for(request)
    form = _rule_form(viewer, read_channels(viewer=viewer), request)
    if not form.is_valid():
        return _page(request, viewer, rule_form=form, status=400)
    try:
        rules.make_rule(viewer=viewer, **form.cleaned_data)
    except NotifyError as error:
        form.add_error(None, sentence_of(error))
        return _page(request, viewer, rule_form=form, status=409)
    return _back("rules")


@require_http_methods(["GET", "HEAD", "POST"])
def change_rule(request: HttpRequest, rule_id: str) -> HttpResponse:
    """Show the settings of a rule, and change them."""
    viewer, number = viewer_for(request), number_of(rule_id)
    row = read_rule(viewer=viewer, rule_id=number, now=timezone.now()) if number else None
    owner = read_rule_owner(viewer=viewer, rule_id=number) if number else None
    if row is None or number is None or owner is None:
        raise Http404
    # The choices are those of the owner, with whose rights the rule works.
    names = [channel.name for channel in read_channels(viewer=owner)]
    initial = {name: getattr(row, name) for name in RuleForm.base_fields}
    if row.accelerators_at_least is not None:
        initial["accelerators_at_least"] = f"{row.accelerators_at_least:g}"
    form: GangRuleForm
    if row.gang_id:
        form = GangRuleForm(_sent(request), initial=initial, channels=names)
    else:
        clusters = read_cluster_names(viewer=owner)
        form = RuleForm(_sent(request), initial=initial, channels=names, clusters=clusters)
    status = 200
    if form.is_valid():
        try:
            if rules.change_rule(viewer=viewer, rule_id=number, **form.cleaned_data):
                return _back("rules")
            raise Http404  # removed meanwhile
        except NotifyError as error:
            form.add_error(None, sentence_of(error))
            status = 409
    return _form_page(request, viewer, "rule", {"rule": row, "form": form}, form, status)


@require_POST
def remove_rule(request: HttpRequest, rule_id: str) -> HttpResponse:
    """Remove a rule."""
    number = number_of(rule_id)
    if number is None or not rules.remove_rule(viewer=viewer_for(request), rule_id=number):
        raise Http404
    return _back("rules")


@require_http_methods(["GET", "HEAD", "POST"])
def mute_rule(request: HttpRequest, rule_id: str) -> HttpResponse:
    """Ask for how long a rule is muted, and mute it."""
    viewer, number = viewer_for(request), number_of(rule_id)
    row = read_rule(viewer=viewer, rule_id=number, now=timezone.now()) if number else None
    if row is None or number is None:
        raise Http404
    form, status = MuteForm(_sent(request)), 200
    if form.is_valid():
        try:
            if rules.mute_rule(viewer=viewer, rule_id=number, **form.cleaned_data):
                return _back("rules")
            raise Http404  # removed meanwhile
        except NotifyError as error:
            form.add_error(None, sentence_of(error))
            status = 409
    context = {"rule": row, "hours": HOURS, "form": form}
    return _form_page(request, viewer, "mute", context, form, status)


@require_http_methods(["GET", "HEAD", "POST"])
def tell_of_gang(request: HttpRequest, gang_id: str) -> HttpResponse:
    """Show the channels for "Tell me when it runs", and make that rule."""
    viewer = viewer_for(request)
    gang = read_gang(viewer=viewer, gang_id=gang_id) if "\x00" not in gang_id else None
    if gang is None:
        raise Http404
    usable = read_channels(viewer=viewer)
    names = [row.name for row in usable]
    form, status = TellForm(_sent(request), channels=names), 200
    if form.is_valid():
        try:
            rules.make_gang_rule(viewer=viewer, gang_id=gang_id, **form.cleaned_data)
            return _back("rules")
        except NotifyError as error:
            form.add_error(None, sentence_of(error))
            status = 409
    context = {
        "gang": gang,
        "name": printable(f"{gang.kind} {gang.name}"),
        "place": printable(f"{gang.namespace} · {gang.cluster.name}"),
        "over": gang.health in RUNS or gang.gone_at is not None,
        "channels": usable,
        "form": form,
    }
    return _form_page(request, viewer, "gang", context, form, status)


def _page(
    request: HttpRequest,
    viewer: Viewer,
    *,
    channel_form: ChannelForm | None = None,
    rule_form: NewRuleForm | None = None,
    secret: str = "",
    secret_of: str = "",
    status: int = 200,
) -> HttpResponse:
    usable = read_channels(viewer=viewer)
    messages, _ = read_deliveries(viewer=viewer)
    context = {
        "channels": usable,
        "rules": read_rules(viewer=viewer, now=timezone.now()),
        "messages": messages,
        "channel_form": channel_form or ChannelForm(),
        "rule_form": rule_form or _rule_form(viewer, usable),
        "secret": secret,
        "secret_of": secret_of,
        "is_admin": viewer.is_admin,
        "most_waiting": MOST_WAITING,
    }
    return plain_page(
        request,
        "notifications/page.html",
        viewer=viewer,
        section="notifications",
        context=context,
        status=status,
    )


def _form_page(
    request: HttpRequest,
    viewer: Viewer,
    name: str,
    context: dict[str, object],
    form: Form,
    status: int,
) -> HttpResponse:
    """Return a small page with one form; its status is 400 if the form was not understood."""
    return plain_page(
        request,
        f"notifications/{name}.html",
        viewer=viewer,
        section="notifications",
        context=context,
        status=400 if form.errors and status == 200 else status,
    )


def _sent(request: HttpRequest) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


def _rule_form(
    viewer: Viewer, usable: tuple[ChannelRow, ...], request: HttpRequest | None = None
) -> NewRuleForm:
    choices = {
        "clusters": read_cluster_names(viewer=viewer),
        "channels": [row.name for row in usable],
    }
    return NewRuleForm(_sent(request) if request is not None else None, **choices)


def _admin(request: HttpRequest) -> Viewer:
    """Return the viewer. Raises PermissionDenied for who is no admin of everything."""
    viewer = viewer_for(request)
    if not viewer.is_admin:
        raise PermissionDenied(NO_ADMIN)
    return viewer


def _back(part: str) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('notifications')}#{part}", status=303)
