"""Agreement: small random clusters and gangs, judged by the real scheduler and by our arithmetic.

case (`cases`) → objects (`objects`) → cluster and judge (`arena`) → our answer (`ours`) → figures
(`figures`). `python -m tests.agreement --cases 300` plays many; `make test` plays twenty that find each of the bugs
that are planted in the arithmetic (`planted`).
"""
