"""Manifests that people paste: documents, lists, limits, and errors with the number of the document."""

from __future__ import annotations

import pytest

from gangboard.decode import manifests
from gangboard.decode.manifests import ManifestError, read_manifests

JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train, namespace: team-a}\n"


def refusal(text: str) -> str:
    with pytest.raises(ManifestError) as caught:
        read_manifests(text)
    return str(caught.value)


def test_documents_are_numbered_and_empty_ones_skipped() -> None:
    first, second = read_manifests(f"{JOB}---\n---\n{JOB}")
    assert (first.number, second.number) == (1, 3)
    assert (first.group, first.version, first.kind) == ("batch", "v1", "Job")
    assert (first.namespace, first.name, first.title) == ("team-a", "train", "Job train")


def test_items_of_a_list_are_objects() -> None:
    text = "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod}, {apiVersion: v1, kind: Pod}]"
    documents = read_manifests(text)
    assert [(document.number, document.kind) for document in documents] == [(1, "Pod"), (1, "Pod")]
    assert documents[0].namespace == "default"


def test_json_is_accepted() -> None:
    (document,) = read_manifests('{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}')
    assert document.name == "a"


def test_times_stay_text_and_keys_become_text() -> None:
    (document,) = read_manifests(f"{JOB}spec: {{at: 2026-01-02T03:04:05Z, 1: a}}")
    assert document.manifest["spec"] == {"at": "2026-01-02T03:04:05Z", "1": "a"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no object"),
        ("- a", "Document 1 is no object, but a list"),
        ("kind: Job", "Document 1 has no apiVersion"),
        ("apiVersion: v1", "Document 1 has no kind"),
        (f"{JOB}---\nkind: Job", "Document 2 has no apiVersion"),
        ("apiVersion: v1\nkind: List\nitems: [1]", "Item 1 of document 1"),
        (f"{JOB}---\na: [", "Document 2 is no valid YAML in line"),
        ("a: &x 1\nb: *x", "Document 1 has the alias *x"),
        (f"{JOB}spec: .inf", "not finite"),
        (f"{JOB}spec: !!binary aGk=", "binary data"),
        (f"{JOB}spec: !!set {{a}}", "a set"),
        (f"{JOB}spec: !!python/object:os.system a", "could not determine a constructor"),
        (f"{JOB}spec: {{? [1] : 2}}", "unhashable"),
        ("\x01", "a character that YAML does not allow"),
    ],
)
def test_bad_texts(text: str, words: str) -> None:
    assert words in refusal(text)


def test_an_alias_bomb_is_refused_before_it_is_built() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 20)]
    assert "alias" in refusal("\n".join(lines))


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "deeper than 40" in refusal(f"{JOB}spec: {'[' * 60}{']' * 60}")
    monkeypatch.setattr(manifests, "MAX_VALUES", 20)
    assert "more than 20 values" in refusal(f"{JOB}spec: {list(range(30))}")
    monkeypatch.setattr(manifests, "MAX_VALUES", 10_000)
    monkeypatch.setattr(manifests, "MAX_DOCUMENTS", 2)
    assert "more than 2 objects" in refusal("---\n".join([JOB] * 3))
    monkeypatch.setattr(manifests, "MAX_BYTES", 1024)
    assert "larger than 1 KiB" in refusal(f"# {'a' * 2000}")
