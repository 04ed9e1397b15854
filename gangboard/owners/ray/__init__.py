"""Ray's objects (ray.io/v1, KubeRay): RayClusters, and the RayJobs and RayServices that make them.

A RayCluster makes its pods itself: one head, and groups of workers. A RayJob makes a RayCluster and, once that is
ready, a Job that submits its work; a RayService makes one, and a second one while it is upgraded. The topmost of them is
the gang, and each Ray group a unit: workers are of no use before the head is ready, and wait for it in an init container.

How many pods there should be is what the RayCluster asks for: an autoscaler changes that, and not what stands above it
("Disregard changes in RayClusterSpec of RayJob", rayjob_controller.go).

Read in the sources of KubeRay 1.6.2 and, for the suspension of RayServices, 1.7.0; the first was run.
"""
