"""Filter values that can be checked: an unknown one is refused, so a typing error never means "nothing"."""

from __future__ import annotations

from gangboard.readmodels.state_labels import known_codes
from gangboard.store.access import Viewer
from gangboard.store.models import Cluster, Gang

MOST_NAMED = 50
"""Known values that one sentence names."""


def unknown_values(*, viewer: Viewer, cluster: str = "", code: str = "") -> dict[str, list[str]]:
    """Return sentences for a cluster that the viewer may not see and for a code that no rule has.

    Empty values are not looked at. At most 2 queries.
    """
    errors: dict[str, list[str]] = {}
    if cluster:
        names = list(
            Cluster.objects.filter(viewer.cluster_filter())
            .order_by("name")
            .values_list("name", flat=True)
        )
        if cluster not in names:
            errors["cluster"] = [_sentence("cluster", cluster, names, "that you may see")]
    # A newer release may have stored a code that this one does not know.
    if code and code not in known_codes() and not _is_stored(code, viewer):
        errors["code"] = [_sentence("reason code", code, sorted(known_codes()))]
    return errors


def _is_stored(code: str, viewer: Viewer) -> bool:
    return "\x00" not in code and Gang.objects.filter(viewer.gang_filter(), code=code).exists()


def _sentence(noun: str, value: str, known: list[str], which: str = "") -> str:
    more = len(known) - MOST_NAMED
    named = ", ".join(known[:MOST_NAMED]) or "none"
    rest = f" and {more} more" if more > 0 else ""
    what = " ".join(filter(None, (f"There is no {noun} “{value}”", which)))
    return f"{what}. Known are: {named}{rest}."
