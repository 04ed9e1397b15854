"""What levers, kinds and admission systems share about acting: the gang as it is asked about, what is
decided, and the requests that come of it.

Pure: no lever is chosen here and nothing is sent. `levers/` and `owners/` may import it.
"""
