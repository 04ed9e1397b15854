"""Texts of Kubernetes as they were on the wire (1.36.3, 1.37.0); the rules are judged by them."""

GPU_SHORT = "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."
GPU_SHORT_NO_VICTIMS = (
    f"{GPU_SHORT} preemption: 0/4 nodes are available: "
    "4 No preemption victims found for incoming pod."
)
NO_MATCH_136 = (
    "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. no new claims "
    "to deallocate, preemption: not eligible due to workload aware preemption enabled"
)
GROUP_SHORT = (
    "pod group is unschedulable, 0/1 placements are available, first placement status: minCount "
    "(6) cannot be satisfied: 4 scheduled, 1 remaining, pod group preemption: No preemption victims "
    "found for incoming preemptor"
)
POD_OF_GROUP = (
    "pod group is unschedulable, pod group is unschedulable, 0/1 placements are available, first "
    "placement status: minCount (6) cannot be satisfied: 4 scheduled, 1 remaining"
)
GROUP_136 = "pod group is unschedulable, No preemption victims found for incoming preemptor"
WAITS_136 = (
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, one or more "
    "plugins asked to wait and no plugin rejected pod"
)
PERMIT_TIMEOUT = (
    "0/1 nodes are available: 1 rejected due to timeout after waiting 4m59.999701977s at plugin "
    "GangScheduling."
)
MIXED_SCHEDULERS = (
    'all pods in a single pod group should have the same .spec.schedulerName set, got: "a" and "b"'
)
PRIORITIES = (
    "all pods in a single pod group should have the same priority as the pod group's priority, "
    "got 0 and 1000"
)
CLAIM_HIDDEN = 'error in "DynamicResources" PodGroupPostFilter plugins: not found'
GATED = "Scheduling is blocked due to non-empty scheduling gates"
QUOTA = (
    'Error creating: pods "train-1-jvzqg" is forbidden: exceeded quota: q, requested: pods=1, '
    "used: pods=2, limited: pods=2"
)
QUOTA_GPU = (
    'Error creating: pods "train-1-jvzqg" is forbidden: exceeded quota: gpus, requested: '
    "requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=12, limited: requests.nvidia.com/gpu=16"
)
IMAGE = (
    'Back-off pulling image "registry.example/train:1": ErrImagePull: rpc error: code = NotFound '
    'desc = failed to pull and unpack image "registry.example/train:1": failed to resolve '
    'reference "registry.example/train:1": registry.example/train:1: not found'
)
BACKOFF_LIMIT = "Job has reached the specified backoff limit"
JOBSET_FAILED = "jobset failed due to one or more job failures (first failed job: run-workers-0)"
