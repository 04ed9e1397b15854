"""Levers, one file each: its requests, its proof, its confirmation, and the permissions that the actor needs for it.

A lever reads a gang and returns a `Decision` or a refusal. `policy` chooses the lever and adds the reactions of
kinds and queues. The registry finds levers by folder. They never import each other.
"""
