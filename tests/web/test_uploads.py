"""Uploaded files are skipped and never written to disk."""

from pathlib import Path

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import RequestFactory, override_settings


def test_an_uploaded_file_is_skipped(tmp_path: Path) -> None:
    sent = {"name": "olga", "file": SimpleUploadedFile("x", b"x" * 10_000)}
    with override_settings(FILE_UPLOAD_TEMP_DIR=str(tmp_path), FILE_UPLOAD_MAX_MEMORY_SIZE=1):
        request = RequestFactory().post("/sign-in/", sent)
        assert request.POST.dict() == {"name": "olga"}
        assert not request.FILES
        assert list(tmp_path.iterdir()) == []
