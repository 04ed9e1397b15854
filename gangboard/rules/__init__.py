"""One file per reason, in a folder per stage: facts to a finding with evidence and advice.

Each file offers a constant RULE and is found by being here. Rules are pure: no clock, no database,
no settings. Rules do not import each other. May import domain and placement.
"""
