"""The fingerprint of a decoder changes with all code that decides how an object is decoded, and with no other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from gangboard.decode import fingerprints
from gangboard.decode.fingerprints import decoder_fingerprint, decoder_modules
from gangboard.polling.cluster_cache import resources

RESOURCES = {resource.key: resource for resource in resources()}
LARGEST = 2**31 - 1
"""Range of a signed 32-bit column. 0 means not read yet."""


def test_every_fingerprint_fits_its_column() -> None:
    for key, resource in RESOURCES.items():
        assert 0 < decoder_fingerprint(resource) <= LARGEST, key
        modules = decoder_modules(resource)
        assert {"gangboard.decode.wire", resource.model.__module__} <= set(modules), key
        rooms = {name.split(".")[1] for name in modules}
        assert rooms <= {"decode", "domain", "owners", "groups", "queues", "plugins"}, key


@pytest.mark.parametrize(
    ("key", "modules"),
    [
        (
            "jobsets.jobset.x-k8s.io",
            ["decode.jobs", "owners.jobset.policies", "owners.jobset.wire", "plugins.owner_kind"],
        ),
        ("rayjobs.ray.io", ["owners.ray.raycluster", "owners.ray.wire", "decode.owner_meta"]),
        ("pods", ["decode.pods", "decode.quantities", "domain.pod"]),
    ],
)
def test_fingerprint_covers_all_modules_of_the_decoder(key: str, modules: list[str]) -> None:
    result = decoder_modules(RESOURCES[key])
    assert [name for name in modules if f"gangboard.{name}" not in result] == []


def test_decoders_do_not_include_other_kinds() -> None:
    result = decoder_modules(RESOURCES["jobs.batch"])
    own = ("gangboard.owners.job", "gangboard.owners.job.")
    owners = [name for name in result if ".owners." in name]
    assert owners
    assert [name for name in owners if name != own[0] and not name.startswith(own[1])] == []


@pytest.fixture
def edited(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Be a release in which one file has another line."""
    name, source = "gangboard.owners.jobset.wire", fingerprints._source
    decoder_fingerprint.cache_clear()
    monkeypatch.setattr(
        fingerprints, "_source", lambda item: source(item) + b"#" if item == name else source(item)
    )
    yield name
    decoder_fingerprint.cache_clear()


def test_edit_changes_the_fingerprints_of_its_decoders(request: pytest.FixtureRequest) -> None:
    before = {key: decoder_fingerprint(item) for key, item in RESOURCES.items()}
    name = request.getfixturevalue("edited")
    changed = {key for key, item in RESOURCES.items() if decoder_fingerprint(item) != before[key]}
    assert changed == {key for key, item in RESOURCES.items() if name in decoder_modules(item)}
    assert changed == {"jobsets.jobset.x-k8s.io"}


def test_a_changed_label_list_changes_the_fingerprint() -> None:
    jobs = RESOURCES["jobs.batch"]
    assert jobs.reads == ("kueue.x-k8s.io/queue-name",)
    assert decoder_fingerprint(replace(jobs, reads=())) != decoder_fingerprint(jobs)


def test_fingerprints_are_the_same_in_every_process() -> None:
    code = (
        "from gangboard.polling.cluster_cache import resources;"
        "from gangboard.decode.fingerprints import decoder_fingerprint;"
        "print(*(decoder_fingerprint(one) for one in resources()))"
    )
    django = "import django, os; os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings'; django.setup();"
    done = subprocess.run(
        [sys.executable, "-c", django + code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    ours = [decoder_fingerprint(resource) for resource in resources()]
    assert list(map(int, done.stdout.split()[-len(ours) :])) == ours
