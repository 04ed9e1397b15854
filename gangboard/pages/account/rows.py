"""Rows of the viewer's own account."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.pages.core.account_rows import RoleRow
from gangboard.readmodels.declarations import shown


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token of the API. Its secret was shown once and is stored nowhere."""

    id: str = shown("Token", "Public part of the token.")
    may_act: bool = shown("May act", "Whether it may suspend, resume and relocate.")
    created_at: datetime = shown("Made")
    expires_at: datetime = shown("Ends", "The token is refused after this time.")
    last_used_at: datetime | None = shown(
        "Last used", "To the minute; null if never.", empty="never"
    )


@dataclass(frozen=True, slots=True)
class NewTokenRow(TokenRow):
    """A token that was made just now."""

    token: str = shown("Token", "The token with its secret. It is shown only once.", default="")


@dataclass(frozen=True, slots=True)
class ViewRow:
    """A named view of the Board."""

    name: str = shown("View", link="href")
    query: str = shown("Filters", "As in the address of the Board.", on_page=False)
    id: int = 0
    href: str = ""


@dataclass(frozen=True, slots=True)
class AccountRow:
    """Who sends this request, and what they may do."""

    name: str = shown("Name")
    roles: tuple[RoleRow, ...] = shown("Roles")
    rights: tuple[str, ...] = shown("Rights", "The roles in words, the strongest first.")
    submitter_names: tuple[str, ...] = shown(
        "Submitter names", "Submitters of gangs that count as yours, for the filter `mine`."
    )
    token: str | None = shown(
        "Token", "Public part of the token of this request; null without one."
    )
    may_act: bool = shown("May act", "Whether this request could suspend, resume or relocate.")
