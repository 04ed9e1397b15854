"""The fleets of the demo, as data: `east` (Kubernetes 1.37 with the Hold) and `west` (1.36)."""
