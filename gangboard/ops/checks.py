"""gangboard's checks for `manage.py check`. They run before every command and in workers started by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004  # Django's name

from gangboard import env
from gangboard.plugins import reasons, registry
from gangboard.plugins.discovery import RegistryError
from gangboard.store.database_state import check_server

SHORTEST_TOKEN = 32
"""Characters; `openssl rand -hex 24` prints 48."""


@register()
def check_registries(**_: Any) -> list[CheckMessage]:
    """Report incomplete or duplicate members of `owners/`, `levers/`, `groups/`, `queues/` and `rules/`."""
    try:
        for members in (
            registry.owner_kinds,
            registry.levers,
            registry.grouping_apis,
            reasons.rules,
        ):
            members()
    except RegistryError as error:
        return [Error(str(error), id="gangboard.E001")]
    return []


@register(Tags.database)
def check_database_server(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Refuse a database server of a wrong encoding or version, or one that is down.

    Raises CommandError, so that `migrate`, which runs this check first, ends with one sentence. Django would
    print headings around a list of messages.
    """
    for alias in databases or ():
        check_server(alias)
    return []


@register()
def check_setting_names(**_: Any) -> list[CheckMessage]:
    """Report variables that look like settings and are none."""
    return [Warning(sentence, id="gangboard.W003") for sentence in env.unknown_variable_warnings()]


@register(Tags.security, deploy=True)
def check_metrics_access(**_: Any) -> list[CheckMessage]:
    """Report weak access control of `/metrics`."""
    messages: list[CheckMessage] = []
    token, networks = settings.METRICS_TOKEN, settings.METRICS_NETWORKS
    if token and len(token) < SHORTEST_TOKEN:
        messages.append(
            Warning(
                f"GANGBOARD_METRICS_TOKEN has fewer than {SHORTEST_TOKEN} characters.",
                hint="Create one with: openssl rand -hex 24",
                id="gangboard.W001",
            )
        )
    if not token and any(network.prefixlen == 0 for network in networks):
        messages.append(
            Warning(
                "GANGBOARD_METRICS_NETWORKS contains every address, so anyone can read /metrics.",
                hint="Name the network of the scrapers, or set GANGBOARD_METRICS_TOKEN as well.",
                id="gangboard.W002",
            )
        )
    return messages
