"""The form with manifests to check."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from gangboard.decode.manifests import MAX_BYTES

_TOO_LARGE = f"The manifests are larger than {MAX_BYTES // 1024} KiB."


class CheckForm(forms.Form):
    """Manifests as text or as a file, and the clusters to check them in."""

    manifests = forms.CharField(
        required=False, strip=False, max_length=MAX_BYTES, error_messages={"max_length": _TOO_LARGE}
    )
    file = forms.FileField(required=False)
    namespace = forms.CharField(required=False, max_length=253)
    cluster = forms.CharField(required=False, max_length=63)

    def __init__(self, *args: Any, clusters: Iterable[str] = (), **options: Any) -> None:
        """`clusters` are the names of all clusters that the person sees."""
        super().__init__(*args, **options)
        self.clusters = tuple(clusters)

    def clean(self) -> dict[str, Any]:
        """Read the file into `text`. A pasted text and a file together are an error."""
        cleaned: dict[str, Any] = super().clean() or {}
        file: UploadedFile[bytes] | None = cleaned.get("file")
        text = cleaned.get("manifests") or ""
        if file is not None and text.strip():
            raise forms.ValidationError("Paste the manifests or choose a file, not both.")
        if file is not None:
            text = _text_of(file)
        if not text.strip() and not self.errors:
            raise forms.ValidationError("Paste manifests or choose a file.")
        return {**cleaned, "text": text}

    @property
    def choices(self) -> tuple[tuple[str, bool], ...]:
        """The clusters, each with whether it is chosen. This also works in an invalid form."""
        chosen = str(self["cluster"].value() or "")
        return tuple((name, name == chosen) for name in self.clusters)


def _text_of(file: UploadedFile[bytes]) -> str:
    if (file.size or 0) > MAX_BYTES:
        raise forms.ValidationError(_TOO_LARGE)
    try:
        return bytes(file.read()).decode()
    except UnicodeDecodeError as error:
        raise forms.ValidationError("The file is no text in UTF-8.") from error
