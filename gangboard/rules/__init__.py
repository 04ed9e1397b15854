"""Rules: one file per reason, in a folder per stage. Each turns a gang or a unit into a finding with evidence and advice.

The registry finds the constant RULE of each file. Reasons that differ only in their names share a file and a
table RULES. Rules are pure functions without a clock, a database or settings. They do not import each other.
"""
