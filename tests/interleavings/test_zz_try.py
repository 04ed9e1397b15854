import sys, time, collections
from tests.interleavings.play import play


def test_try(db):
    import os

    a, b = int(os.environ["A"]), int(os.environ["B"])
    tot = collections.Counter()
    st = collections.Counter()
    t0 = time.process_time()
    verbose = os.environ.get("V")
    ex = {}
    for s in range(a, b):
        t = time.time()
        r = play(s)
        st += r.states
        for k in r.broken:
            tot[k] += 1
            ex.setdefault(k, (s, r.broken[k][:2]))
        if verbose:
            print(r.text())
    print("time", time.process_time() - t0, "per run", (time.process_time() - t0) / (b - a))
    print(st)
    print(tot)
    for k, v in ex.items():
        print(k, v)
