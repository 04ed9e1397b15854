"""TFJobs as training-operator 1.9.3 leaves them (seen on Kubernetes 1.37.0): pods without Jobs."""

from __future__ import annotations

from simulator import operators

KIND = "TFJob"
_KIND = operators.training_kind(KIND, "tfReplicaSpecs")
RESOURCES = (_KIND.jobs,)
make, controller = _KIND.make, _KIND.controller
