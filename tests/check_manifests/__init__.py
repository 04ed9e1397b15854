"""Manifests that the truth test of the check predicts and then creates, with the nodes and objects around them.

Nothing here says what happens: the control plane decides. `CASES` has all of them. Each case has a namespace and nodes of
its own, so all can exist at once. The controllers of the profile `1.37-kueue` handle all kinds.
"""

from tests.check_manifests.cases import CASES, TruthCase

__all__ = ["CASES", "TruthCase"]
