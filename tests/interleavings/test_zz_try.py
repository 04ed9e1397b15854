import pytest
from gangboard.actions import guards, refusals, leaving
from gangboard.actions.leaving import Exit, leave
from gangboard.actions.verify import watching
from gangboard.domain.action import ActionState, Lever, Verb
@pytest.fixture(autouse=True)
def fixed(monkeypatch):
    d=watching._decide; v=watching._verified; m=refusals._moved_on
    def decide(run, raws, pods):
        if run.context.get("quiet_since")==run.now.isoformat(): run.write(context=True)
        return d(run,raws,pods)
    def verified(run):
        if run.action.verb==Verb.SUSPEND and run.action.lever==Lever.HOLD:
            lost=guards._hold_lost(run.door, run.context["hold"])
            if lost: return leave(run, Exit(ActionState.REVERTED, "Hold lost: "+lost))
        return v(run)
    def moved(run, step, name):
        if step.method!="PATCH": return Exit(ActionState.FAILED,"The API server did not accept it.")
        return m(run,step,name)
    monkeypatch.setattr(watching,"_decide",decide); monkeypatch.setattr(watching,"_verified",verified); monkeypatch.setattr(refusals,"_moved_on",moved)
@pytest.fixture(autouse=True)
def fixed2(monkeypatch):
    from gangboard.actions import undoing
    from gangboard.store.models import ActionStep
    u=undoing.undo
    def undo(run):
        before={s.pk for s in run.steps if s.name==undoing._NAME}
        t=u(run)
        if before: ActionStep.objects.filter(pk__in=before,state="sending").update(state="done" if "is resumed" in t or not t else "failed")
        return t
    monkeypatch.setattr(undoing,"undo",undo)
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
