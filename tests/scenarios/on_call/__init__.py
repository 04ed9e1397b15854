"""What a good on-call engineer would say: situations and expectations, and nothing of the rules.

Whoever wrote these had the objects, the design and what was observed of Kubernetes, and had not seen
the rules, their sentences or the other scenarios. They were committed before they were played.
"""
