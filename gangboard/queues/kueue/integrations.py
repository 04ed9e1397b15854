"""Kinds of owners that Kueue manages."""

from __future__ import annotations

POD_GROUP_LABEL = "kueue.x-k8s.io/pod-group-name"
"""Label of pods that name the group with which they are admitted."""
GATE = "kueue.x-k8s.io/admission-gated-by"
"""Annotation of owners that Kueue does not evaluate yet. The value names who removes it."""
MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
"""Annotation of Jobs that Kueue may admit with fewer pods."""
MANAGED = frozenset(
    {
        ("batch", "Job"),
        ("jobset.x-k8s.io", "JobSet"),
        ("trainer.kubeflow.org", "TrainJob"),
        ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
        ("", "Pod"),
        ("apps", "StatefulSet"),
        ("apps", "Deployment"),
        ("workload.codeflare.dev", "AppWrapper"),
        ("sparkoperator.k8s.io", "SparkApplication"),
        *(("ray.io", kind) for kind in ("RayCluster", "RayJob", "RayService")),
        *(
            ("kubeflow.org", kind)
            for kind in ("MPIJob", "PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob")
        ),
    }
)
"""API groups and kinds of the integrations of v0.19.2 (pkg/controller/jobs)."""
SEVERAL_ENTRIES = frozenset(
    {("leaderworkerset.x-k8s.io", "LeaderWorkerSet"), ("apps", "Deployment")}
)
"""Kinds that have a Workload for each replica."""
