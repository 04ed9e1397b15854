"""What an admin sees of people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.pages.core.roles import RoleRow
from gangboard.pages.core.rows import shown
from gangboard.store.access import ROLES


@dataclass(frozen=True, slots=True)
class GivenRoleRow(RoleRow):
    """A role that a person has."""

    origin: str = shown(
        "Given", "By hand, or by a group at sign-in.", choices=("hand", "group"), default="hand"
    )
    words: str = ""
    href: str = ""
    """Where the form to take it back goes."""

    @property
    def is_by_hand(self) -> bool:
        """Whether an admin gave it, and can take it back: that of a group goes with the group."""
        return self.origin == "hand"


@dataclass(frozen=True, slots=True)
class UserRow:
    """A person with an account."""

    name: str = shown("Name", link="href")
    disabled: bool = shown("Disabled", "Whether nobody can sign in to the account.", on_page=False)
    rights: tuple[str, ...] = shown("Roles", "The roles in words.")
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
    role: str = shown("Role", choices=ROLES)
    cluster: str | None = shown("Cluster", "Null for every cluster.", empty="every cluster")
    namespace: str | None = shown("Namespace", "Null for every namespace.", empty="every namespace")
    origin: str = shown("Given", "By hand, or by a group at sign-in.", choices=("hand", "group"))


@dataclass(frozen=True, slots=True)
class SignInLinkRow:
    """A link that signs a person in once."""

    link: str = shown("Link", "It is shown this once.")
    expires_at: datetime = shown("Ends", "From then on it does not work.")


@dataclass(frozen=True, slots=True)
class OwnedTokenRow:
    """A token of the API, with its owner. Its secret is stored nowhere."""

    id: str = shown("Token", "Public part of the token.")
    owner: str = shown("Owner", link="href")
    may_act: bool = shown("May act", "Whether it may suspend, resume and relocate.")
    created_at: datetime = shown("Made")
    expires_at: datetime = shown("Ends", "From then on it is refused.")
    last_used_at: datetime | None = shown(
        "Last used", "To the minute; null if never.", empty="never"
    )
    href: str = ""


@dataclass(frozen=True, slots=True)
class GroupRoleRow:
    """A role of the members of a group."""

    group: str = shown("Group", "As the identity provider sends it.")
    role: str = shown("Role", choices=ROLES)
    cluster: str | None = shown("Cluster", "Null for every cluster.", empty="every cluster")
    namespace: str | None = shown("Namespace", "Null for every namespace.", empty="every namespace")
    members: int = shown("People", "Accounts whose last sign-in named the group.")
    id: int = shown("Id", on_page=False, default=0)
