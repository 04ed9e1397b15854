"""The page of messages, and the pages of one channel, one rule and one gang."""

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

NO_ADMIN = "Only an admin can create, change, test and remove channels."


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
    """Create a channel. Only this response shows the secret of a webhook."""
    viewer, form = _admin(request), ChannelForm(request.POST)
    if redirect := require_fresh(request):
        return redirect
    if not form.is_valid():
        return _page(request, viewer, channel_form=form, status=400)
    try:
        channel, secret = channels.make_channel(viewer=viewer, **form.cleaned_data)
    except NotifyError as error:
        form.add_error(None, sentence_of(error))
        return _page(request, viewer, channel_form=form, status=409)
    if not secret:
        return _redirect_to("channels")
    return _page(request, viewer, secret=secret, secret_of=channel.name)


@require_http_methods(["GET", "HEAD", "POST"])
def change_channel(request: HttpRequest, channel_id: str) -> HttpResponse:
    """Show the settings of a channel without its address, or change them."""
    viewer, number = _admin(request), number_of(channel_id)
    row = read_channel(viewer=viewer, channel_id=number) if number is not None else None
    if row is None or number is None:
        raise Http404
    if redirect := require_fresh(request):
        return redirect
    used_by = "everybody" if row.for_everybody else "person" if row.owner else "admins"
    initial = {"name": row.name, "used_by": used_by, "owner": row.owner}
    form, status = ChannelChangeForm(_posted(request), initial=initial), 200
    if form.is_valid():
        try:
            if channels.change_channel(viewer=viewer, channel_id=number, **form.cleaned_data):
                return _redirect_to("channels")
            raise Http404  # removed meanwhile
        except NotifyError as error:
            form.add_error(None, sentence_of(error))
            status = 409
    context = {"channel": row, "form": form}
    return _form_page(request, viewer, "channel", context, form, status)


@require_POST
def test_channel(request: HttpRequest, channel_id: str) -> HttpResponse:
    """Enqueue a test message."""
    viewer, number = _admin(request), number_of(channel_id)
    if number is None or channels.queue_test_message(viewer=viewer, channel_id=number) is None:
        raise Http404
    return _redirect_to("messages")


@require_POST
def remove_channel(request: HttpRequest, channel_id: str) -> HttpResponse:
    """Remove a channel."""
    viewer, number = _admin(request), number_of(channel_id)
    if number is None or not channels.remove_channel(viewer=viewer, channel_id=number):
        raise Http404
    return _redirect_to("channels")


@saves_form("notifications", fields=(*RuleForm.base_fields, "for_admins"), anchor="rules")
@require_POST
def make_rule(request: HttpRequest) -> HttpResponse:
    """Create a rule."""
    viewer = viewer_for(request)
    form = _rule_form(viewer, read_channels(viewer=viewer), request)
    if not form.is_valid():
        return _page(request, viewer, rule_form=form, status=400)
    try:
        rules.make_rule(viewer=viewer, **form.cleaned_data)
    except NotifyError as error:
        form.add_error(None, sentence_of(error))
        return _page(request, viewer, rule_form=form, status=409)
    return _redirect_to("rules")


@require_http_methods(["GET", "HEAD", "POST"])
def change_rule(request: HttpRequest, rule_id: str) -> HttpResponse:
    """Show the settings of a rule, or change them."""
    viewer, number = viewer_for(request), number_of(rule_id)
    row = read_rule(viewer=viewer, rule_id=number, now=timezone.now()) if number else None
    owner = read_rule_owner(viewer=viewer, rule_id=number) if number else None
    if row is None or number is None or owner is None:
        raise Http404
    # The rule uses the rights of its owner, so the form offers the owner's choices.
    names = [channel.name for channel in read_channels(viewer=owner)]
    initial = {name: getattr(row, name) for name in RuleForm.base_fields}
    if row.accelerators_at_least is not None:
        initial["accelerators_at_least"] = f"{row.accelerators_at_least:g}"
    form: GangRuleForm
    if row.gang_id:
        form = GangRuleForm(_posted(request), initial=initial, channels=names)
    else:
        clusters = read_cluster_names(viewer=owner)
        form = RuleForm(_posted(request), initial=initial, channels=names, clusters=clusters)
    status = 200
    if form.is_valid():
        try:
            if rules.change_rule(viewer=viewer, rule_id=number, **form.cleaned_data):
                return _redirect_to("rules")
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
    return _redirect_to("rules")


@require_http_methods(["GET", "HEAD", "POST"])
def mute_rule(request: HttpRequest, rule_id: str) -> HttpResponse:
    """Show the form to mute a rule, or mute it."""
    viewer, number = viewer_for(request), number_of(rule_id)
    row = read_rule(viewer=viewer, rule_id=number, now=timezone.now()) if number else None
    if row is None or number is None:
        raise Http404
    form, status = MuteForm(_posted(request)), 200
    if form.is_valid():
        try:
            if rules.mute_rule(viewer=viewer, rule_id=number, **form.cleaned_data):
                return _redirect_to("rules")
            raise Http404  # removed meanwhile
        except NotifyError as error:
            form.add_error(None, sentence_of(error))
            status = 409
    context = {"rule": row, "hours": HOURS, "form": form}
    return _form_page(request, viewer, "mute", context, form, status)


@require_http_methods(["GET", "HEAD", "POST"])
def tell_of_gang(request: HttpRequest, gang_id: str) -> HttpResponse:
    """Show the channels for "Tell me when it runs", or create that rule."""
    viewer = viewer_for(request)
    gang = read_gang(viewer=viewer, gang_id=gang_id) if "\x00" not in gang_id else None
    if gang is None:
        raise Http404
    usable = read_channels(viewer=viewer)
    names = [row.name for row in usable]
    form, status = TellForm(_posted(request), channels=names), 200
    if form.is_valid():
        try:
            rules.make_gang_rule(viewer=viewer, gang_id=gang_id, **form.cleaned_data)
            return _redirect_to("rules")
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
    """Return a page with one form. Its status is 400 if the form is invalid."""
    return plain_page(
        request,
        f"notifications/{name}.html",
        viewer=viewer,
        section="notifications",
        context=context,
        status=400 if form.errors and status == 200 else status,
    )


def _posted(request: HttpRequest) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


def _rule_form(
    viewer: Viewer, usable: tuple[ChannelRow, ...], request: HttpRequest | None = None
) -> NewRuleForm:
    choices = {
        "clusters": read_cluster_names(viewer=viewer),
        "channels": [row.name for row in usable],
    }
    return NewRuleForm(_posted(request) if request is not None else None, **choices)


def _admin(request: HttpRequest) -> Viewer:
    """Return the viewer. Raises PermissionDenied unless they are an admin of everything."""
    viewer = viewer_for(request)
    if not viewer.is_admin:
        raise PermissionDenied(NO_ADMIN)
    return viewer


def _redirect_to(section: str) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('notifications')}#{section}", status=303)
