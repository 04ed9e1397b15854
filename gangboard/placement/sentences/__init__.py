"""What arithmetic and the scheduler say of members that wait for a node, in sentences.

The scheduler is the judge that they wait; the arithmetic names the cause. Rules and other sentences
about the same members take the words from here, since rules do not know each other.
"""
