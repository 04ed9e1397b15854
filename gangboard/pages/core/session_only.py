"""Operations of the API for people who have signed in: a token must not make more of itself."""

from __future__ import annotations

from rest_framework.exceptions import PermissionDenied

from gangboard.store.access import Viewer

NO_TOKEN = "A token cannot do that: sign in to do it."  # noqa: S105  # a sentence


def signed_in(viewer: Viewer) -> Viewer:
    """Return the viewer of a session. Raises PermissionDenied for a token."""
    if viewer.token:
        raise PermissionDenied(NO_TOKEN)
    return viewer
