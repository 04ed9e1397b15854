"""Template tags for ages, numbers, links and fragments of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol
from urllib.parse import urlencode

from django import template
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from gangboard.domain.text import listed
from gangboard.pages.core.forms import Named, element_key, write_target
from gangboard.pages.core.live.fragments import Fragment
from gangboard.pages.core.query_state import Option, Select
from gangboard.readmodels.action_labels import lever_label, step_face
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.formatting import age_text, duration_text
from gangboard.readmodels.node_pools import NodeSquare
from gangboard.readmodels.rights import rights_of
from gangboard.readmodels.state_labels import Face
from gangboard.store.access import Viewer

register = template.Library()


class _HasCluster(Protocol):
    @property
    def cluster(self) -> str:
        """Name of a cluster."""


@register.simple_tag(takes_context=True)
def age(context: dict[str, Any], since: datetime | None, until: datetime | None = None) -> str:
    """Print the age of a time. Hovering shows the exact time, and a script updates the age.

    With `until`, the age is the one of that time, and no script updates it.
    """
    if since is None:
        return ""
    if until is not None:
        return format_html(
            '<time datetime="{}" title="{} to {}">{}</time>',
            rfc3339(since),
            exact(since),
            exact(until),
            age_text(since, until),
        )
    now: datetime = context["now"]
    return format_html(
        '<time datetime="{}" title="{}" data-age>{}</time>',
        since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        exact(since),
        age_text(since, now),
    )


@register.simple_tag
def label_link(key: str, value: str) -> str:
    """Print a label of a gang as a link to all gangs with that label."""
    query = urlencode({"label": f"{key}={value}"})
    address = f"{reverse('board')}?{query}"
    return format_html('<a href="{}" title="Gangs with this label">{}={}</a>', address, key, value)


@register.simple_tag(takes_context=True)
def due(context: dict[str, Any], time: datetime) -> str:
    """Print a future time in full, with the remaining time, which a script counts down."""
    now: datetime = context["now"]
    remaining = f"in {duration_text(time - now)}" if time > now else "over"
    return format_html(
        '{}, <time datetime="{}" data-due>{}</time>', exact(time), rfc3339(time), remaining
    )


@register.filter
def exact(time: datetime | None) -> str:
    """Print a time in full, in the user's time zone."""
    if time is None:
        return ""
    local = timezone.localtime(time)
    return f"{local:%Y-%m-%d %H:%M:%S} {local.tzname()}"


@register.simple_tag
def zone() -> str:
    """Print the name of the user's time zone."""
    return timezone.get_current_timezone_name()


@register.filter
def number(value: float | None) -> str:
    """Print a number with commas, and a fraction only if it has one. None is a dash."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


@register.simple_tag(takes_context=True)
def fragment(context: dict[str, Any], element: Fragment) -> SafeString:
    """Print a fragment of the page. The answer with updates prints it the same way."""
    base: dict[str, object] = {
        name: context[name] for name in ("now", "viewer", "csrf_token") if name in context
    }
    return mark_safe(element.render(base))  # noqa: S308  # the fragment's own template escaped it


@register.filter
def rfc3339(time: datetime) -> str:
    """Print a time for programs, as RFC 3339 in UTC."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@register.simple_tag
def rights(viewer: Viewer) -> tuple[str, ...]:
    """Return the rights of the viewer, one line for each role."""
    return rights_of(viewer)


@register.filter
def http_method(method: str) -> str:
    """Print the HTTP method of a request. A merge patch is stored as `MERGE` and sent as PATCH."""
    return "PATCH" if method == "MERGE" else method


@register.filter
def lever_words(lever: str) -> str:
    """Print the name of a lever."""
    return lever_label(lever)


@register.filter
def key(uid: str) -> str:
    """Print the key of an object for element ids."""
    return element_key(uid)


@register.filter
def target(named: Named) -> str:
    """Print an object as one word of a form."""
    return write_target(named)


@register.simple_tag
def confirm_address(offer: OfferRow, avoid: str = "") -> str:
    """Print the address of the confirmation of an offer. `avoid` is the place that a relocated Job leaves."""
    pairs = [("verb", offer.verb), ("target", write_target(offer)), ("gang", offer.gang_id)]
    pairs.append(("avoid", avoid))
    return f"{reverse('confirm')}?{urlencode([pair for pair in pairs if pair[1]])}"


@register.filter(name="step_face")
def face_of_step(state: str, over: bool) -> Face:
    """Return the face of a step's state. `over` says whether its action has ended."""
    return step_face(state, over=over)


@register.filter
def only(items: Sequence[object]) -> object | None:
    """Return the only item, or None if there are several or none."""
    return items[0] if len(items) == 1 else None


class HasCluster(Protocol):
    """A row that names a cluster."""

    @property
    def cluster(self) -> str:
        """The name of the cluster."""


@register.filter
def cluster_names(rows: Iterable[HasCluster]) -> str:
    """Print the names of the clusters of some rows, each once."""
    return listed(tuple(dict.fromkeys(row.cluster for row in rows)))


@register.simple_tag
def options(select: Select) -> SafeString:
    """Print the choices of a filter. A template loop is slow for hundreds of namespaces."""
    return mark_safe("".join(map(_option, select.options)))  # noqa: S308  # every text is escaped


def _option(option: Option) -> str:
    value = escape(option.value)
    label = value if option.label == option.value else escape(option.label)
    return f'<option value="{value}"{" selected" if option.chosen else ""}>{label}</option>'


@register.simple_tag
def object_link(page: str, cluster: str, name: str) -> str:
    """Print an object's name as a link to its page, `node` or `queue`.

    An API server can send any text as a name. A name that fits no address is printed without a link.
    """
    address = _object_address(page, cluster, name)
    return format_html('<a href="{}">{}</a>', address, name) if address else name


@register.simple_tag
def node_square(cluster: str, square: NodeSquare) -> str:
    """Print a node's name and free amount as a link to its page. Hovering shows the whole sentence.

    The name is text on every screen, so the browser's search finds it.
    """
    name = format_html('<span class="square-name"><bdi>{}</bdi></span>', square.name)
    inside = format_html("{}<b>{}</b>", name, square.free or "?")
    address = _object_address("node", cluster, square.name)
    if not address:
        return format_html('<span title="{}">{}</span>', square.sentence, inside)
    sentence = square.sentence
    return format_html(
        '<a href="{}" title="{}" aria-label="{}">{}</a>', address, sentence, sentence, inside
    )


def _object_address(page: str, cluster: str, name: str) -> str:
    try:
        return reverse(page, args=(cluster, name))
    except NoReverseMatch:
        return ""


@register.simple_tag
def query(**pairs: str) -> str:
    """Print pairs as the query of an address."""
    return urlencode(pairs)
