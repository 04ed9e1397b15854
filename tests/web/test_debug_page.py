"""The debug page hides settings that may contain a password."""

from __future__ import annotations

import sys

from django.test import RequestFactory, override_settings
from django.views.debug import technical_500_response

ADDRESS = "redis://:sesame@redis:6379/0?password=sesame"


def test_addresses_and_secrets_are_hidden() -> None:
    request = RequestFactory().get("/", headers={"Authorization": "Bearer sesame"})
    request.META.update(DATABASE_URL="postgresql://u:sesame@db/g", REDIS_URL=ADDRESS)
    hidden = {"CELERY_BROKER_URL": ADDRESS, "REDIS_URL": ADDRESS, "SECRET_KEY": "sesame"}
    with override_settings(DEBUG=True, **hidden):
        try:
            raise RuntimeError("a bug")
        except RuntimeError:
            page = technical_500_response(request, *sys.exc_info()).content.decode()
    assert "a bug" in page
    for name in hidden:
        assert f"<td>{name}</td>" in page
    # The frame of this test is the one place that contains the value.
    settings_and_request = page[page.index('id="requestinfo"') :]
    assert "sesame" not in settings_and_request
