"""What Django's debug page hides (GANGBOARD_DEBUG): it shows all settings to whoever meets an error."""

import re

from django.views.debug import SafeExceptionReporterFilter


class AddressesToo(SafeExceptionReporterFilter):
    """Hide addresses as well: the one of a broker or database may hold a password."""

    hidden_settings = re.compile(
        f"{SafeExceptionReporterFilter.hidden_settings.pattern}|URL|BROKER", flags=re.IGNORECASE
    )
