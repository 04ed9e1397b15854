"""Jobs of kubeflow.org: PyTorchJob, TFJob, XGBoostJob, PaddleJob and JAXJob (v1), and MPIJob (v2beta1 and v1).

The job is the gang, and each role is a unit. The training operator creates the pods of each role itself, without Jobs.
gangboard counts pods instead of trusting the conditions: a PyTorchJob is `Running` while only its master runs and all
workers are unschedulable (observed with training-operator 1.9.3, real-owners-2.md §2.3).
"""
