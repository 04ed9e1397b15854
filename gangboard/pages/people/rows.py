"""Rows of people, their roles, links and tokens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.pages.core.account_rows import (
    RoleRow,
    cluster_field,
    namespace_field,
    origin_field,
    role_field,
)
from gangboard.readmodels.declarations import shown


@dataclass(frozen=True, slots=True)
class GivenRoleRow(RoleRow):
    """A role that a person has."""

    origin: str = origin_field(default="hand")
    text: str = ""
    href: str = ""
    """URL of the form that revokes it."""

    @property
    def is_by_hand(self) -> bool:
        """Whether an admin granted it and can revoke it. Roles of a group end with the group."""
        return self.origin == "hand"


@dataclass(frozen=True, slots=True)
class UserRow:
    """A person with an account."""

    name: str = shown("Name", link="href")
    disabled: bool = shown("Disabled", "Whether the account is disabled.", on_page=False)
    rights: tuple[str, ...] = shown("Roles", "What the roles allow, the strongest first.")
    groups: tuple[str, ...] = shown("Groups", "Groups of the last sign-in at the provider.")
    last_seen_at: datetime | None = shown(
        "Last seen", "The last sign-in or page; tokens do not count. Null if never.", empty="never"
    )
    tokens: int = shown("Tokens", "Tokens that have not expired.")
    sessions: int = shown("Sessions", "Sessions that have not ended.")
    roles: tuple[GivenRoleRow, ...] = shown("Roles", on_page=False)
    state: str = shown("Account", in_api=False, default="open")
    href: str = ""


@dataclass(frozen=True, slots=True)
class HeldRoleRow:
    """A role, and who has it."""

    name: str = shown("Name")
    role: str = role_field()
    cluster: str | None = cluster_field()
    namespace: str | None = namespace_field()
    origin: str = origin_field()


@dataclass(frozen=True, slots=True)
class SignInLinkRow:
    """A link that signs a person in once."""

    link: str = shown("Link", "It is shown only once.")
    expires_at: datetime = shown("Ends", "The link stops working at this time.")


@dataclass(frozen=True, slots=True)
class OwnedTokenRow:
    """A token of the API, with its owner. Its secret is stored nowhere."""

    id: str = shown("Token", "Public part of the token.")
    owner: str = shown("Owner", link="href")
    may_act: bool = shown("May act", "Whether it may suspend, resume and relocate.")
    created_at: datetime = shown("Made")
    expires_at: datetime = shown("Ends", "The token is refused after this time.")
    last_used_at: datetime | None = shown(
        "Last used", "To the minute; null if never.", empty="never"
    )
    href: str = ""


@dataclass(frozen=True, slots=True)
class GroupRoleRow:
    """A role of the members of a group."""

    group: str = shown("Group", "As the identity provider sends it.")
    role: str = role_field()
    cluster: str | None = cluster_field()
    namespace: str | None = namespace_field()
    members: int = shown("People", "Accounts whose last sign-in named the group.")
    id: int = shown("Id", on_page=False, default=0)
