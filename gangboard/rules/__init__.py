"""One file per reason, in a folder per stage: a gang or unit to a finding with evidence and advice.

Each file offers a constant RULE and is found by being here. Reasons that differ in nothing but what they
are called share one file and offer a table, RULES. Rules are pure: no clock, no database, no settings.
Rules do not import each other. May import domain and placement.
"""
