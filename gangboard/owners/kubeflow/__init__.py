"""Jobs of kubeflow.org: PyTorchJob, TFJob, XGBoostJob, PaddleJob and JAXJob (v1), and MPIJob (v2beta1 and v1).

The training operator makes the pods of each role itself, without Jobs; each role is a unit. The gang is the
job. Its conditions are not believed: `Running` of a PyTorchJob means its master, with all workers
unschedulable (seen with training-operator 1.9.3, real-owners-2.md §2.3). Pods are counted.
"""
