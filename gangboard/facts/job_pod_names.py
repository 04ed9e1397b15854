"""Whose pod a name can be, where only the name is left: by the naming rule of the Job controller.

Owner references tell of what is there; an event about a pod that is gone has its name alone. A name
that merely begins like a Job's is another Job's just as well: `run-w-0-0-0-x7k2p` is of `run-w-0-0`.
"""

from __future__ import annotations

from gangboard.domain.owner import Owner

# pkg/controller/job/indexed_job_utils.go (podGenerateNameWithIndex), pkg/controller/controller_utils.go
# (getPodsPrefix) and k8s.io/apiserver/pkg/storage/names (SimpleNameGenerator), Kubernetes 1.37.0.
_LONGEST_BASE, _GENERATED = 58, 5
_ALPHABET = frozenset("bcdfghjklmnpqrstvwxz2456789")


def may_be_pod_of(job: Owner, name: str) -> bool:
    """Whether the Job controller gives such a name to a pod of this Job.

    That is the Job's name, with `-` and the completion index where it is Indexed, `-` and five
    characters; what comes before these is cut to 58.
    """
    base, generated, own = name[:-_GENERATED], name[-_GENERATED:], job.meta.ref.name
    if not base or not _ALPHABET.issuperset(generated):
        return False
    if not job.indexed:
        return base == f"{own}-"[:_LONGEST_BASE]
    index = base.removesuffix("-").rpartition("-")[2]
    end = f"-{index}-"
    return _is_index(job, index) and base == f"{own[: _LONGEST_BASE - len(end)]}{end}"


def _is_index(job: Owner, text: str) -> bool:
    """Whether it is one of the Job's completion indexes, as it is written in names."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10) or text != str(int(text)):
        return False
    return job.completions is None or int(text) < job.completions
