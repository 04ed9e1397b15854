"""Ray objects of KubeRay (ray.io/v1): RayClusters, and the RayJobs and RayServices that create them.

A RayCluster creates its pods itself: one head and groups of workers. A RayJob creates a RayCluster and, once that is
ready, a Job that submits its work. A RayService creates a RayCluster, and a second one during an upgrade. The topmost
object is the gang, and each Ray group is a unit. Workers wait for the head in an init container.

The desired number of pods comes from the RayCluster, because an autoscaler changes only that object ("Disregard changes
in RayClusterSpec of RayJob", rayjob_controller.go).

Source: KubeRay 1.6.2, which tests also run, and 1.7.0 for the suspension of RayServices.
"""
