"""Policy of actions: the lever for a gang, the exact requests and their consequences, or a refusal.

The functions are pure and depend on a `Gang` and the levers of its cluster. `plan.plan` is the entry point of
the action engine and of pages. `selection.evaluate_selection` assesses several Jobs together.
"""
