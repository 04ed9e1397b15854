"""TFJobs as training-operator 1.9.3 leaves them (seen on Kubernetes 1.37.0): pods without Jobs."""

from __future__ import annotations

from simulator import operators

KIND = "TFJob"
_OF = operators.training_kind(KIND, "tfReplicaSpecs")
RESOURCES = (_OF.jobs,)
make, controller = _OF.make, _OF.controller
