"""What may be done to a gang: the lever, the exact requests and their consequences, or a refusal.

Pure functions of an `Gang` and the levers of its cluster; they read, store and send nothing. `plan.plan` is the
entry for the engine that acts and for pages. `selection.evaluate_selection` judges several Jobs together.
"""
