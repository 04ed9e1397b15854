"""Names of resources that pods ask for."""

from __future__ import annotations


def is_accelerator(resource: str) -> bool:
    """Whether it is a device such as `nvidia.com/gpu`: extended resources have a domain's name.

    Network devices and the like are extended resources too; they are rare, and a gang that asks for
    them is as dear. Huge pages are memory.
    """
    return "/" in resource
