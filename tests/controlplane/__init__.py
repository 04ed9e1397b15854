"""A real Kubernetes control plane on this machine, for tests whose judge is the real scheduler.

Allowed imports: the standard library, cryptography, urllib3 and PyYAML. Never `gangboard` itself:
the product must not be its own witness.

| Module | Purpose |
|---|---|
| `programs` | binaries and manifests to build, and the Kubernetes release of their libraries |
| `build` | Go modules under `modules/` -> binaries in the user's cache (`make controlplane`) |
| `profiles` | which binaries, gates and served versions make up "1.37", "1.36", "1.35", "plain", ... |
| `cluster` | `ControlPlane`: start, restart, pause, stop; leaves nothing behind |
| `certificates`, `processes` | the keys and the command lines of it |
| `controllers` | API objects of JobSet, Kueue and LeaderWorkerSet: CRDs, webhook configurations, a Secret |
| `supervisor`, `guard` | the small process that owns the others and outlives a killed test, and our end of it |
| `client` | a plain JSON client for any API server |
| `nodes`, `objects` | fake nodes; Jobs, JobSets, PodGroups, ... as dicts |
| `queues`, `conditions` | Kueue's queues and Workloads; reading `status.conditions` |
| `kwok.yaml` | the script of the fake kubelets, and its annotations |
| `clearing`, `fixtures` | a clean cluster for the next test; pytest fixtures |
| `fleet`, `run` | a filled cluster to look at (`make testcluster`) |
| `states`, `states_of_*`, `capture` | states of a real control plane, kept in `tests/captures/` |
"""
