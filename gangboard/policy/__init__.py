"""What may be done to a gang: the lever, the exact requests, who will react; or why not.

Pure functions of a `Gang` and what its cluster allows. Owners, Jobs, Holds, groups and entries of
queues enter; nothing is asked, stored or sent here. `plan.plan` is the way in, for the engine that
acts as for pages; `selection.of_selection` judges several Jobs that are asked for together.
"""
