"""Sessions of signed-in browsers. The key of a row is a hash of the cookie, so a copy of the table opens no page."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.utils import timezone

from gangboard.store.secrets import hash_secret

KEY_CHARACTERS = 40
"""Length of the column in Django's table. 40 hexadecimal digits are 160 bits, about as many as a cookie has."""


def row_key(session_key: str) -> str:
    """Return the key under which the session of a cookie is stored."""
    return hash_secret(session_key)[:KEY_CHARACTERS]


class SessionStore(db.SessionStore):
    """Django's sessions in the database, with hashed keys. `session_key` is the cookie's value."""

    def _get_session_from_db(self) -> AbstractBaseSession | None:
        rows = self.model.objects.filter(expire_date__gt=timezone.now())
        row = rows.filter(session_key=row_key(str(self.session_key))).first()
        if row is None:
            self._session_key = None
        return row

    def exists(self, session_key: str) -> bool:
        """Return whether a session has this key."""
        return super().exists(row_key(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        """Return the row to be saved."""
        row = super().create_model_instance(data)
        row.session_key = row_key(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        """Delete the session of this key, by default the present one."""
        key = session_key or self.session_key
        if key is not None:
            super().delete(row_key(key))

    async def _aget_session_from_db(self) -> AbstractBaseSession | None:
        return await sync_to_async(self._get_session_from_db)()

    async def aexists(self, session_key: str) -> bool:
        """Return whether a session has this key."""
        return await super().aexists(row_key(session_key))

    async def acreate_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        """Return the row to be saved."""
        return await sync_to_async(self.create_model_instance)(data)

    async def adelete(self, session_key: str | None = None) -> None:
        """Delete the session of this key, by default the present one."""
        await sync_to_async(self.delete)(session_key)
