"""A filter for texts that have names of fields and values in backticks."""

from __future__ import annotations

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def with_code(text: str) -> SafeString:
    """Print a text with the parts between backticks as code."""
    segments = text.split("`")
    if len(segments) % 2 == 0:  # one of them has no partner
        return format_html("{}", text)
    marked = (
        (format_html("<code>{}</code>", segment) if index % 2 else segment,)
        for index, segment in enumerate(segments)
    )
    return format_html_join("", "{}", marked)
