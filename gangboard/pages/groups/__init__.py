"""Groups: every Workload, PodGroup and CompositePodGroup as it is stored, with its gang."""
