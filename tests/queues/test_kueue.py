from gangboard.owners import job, jobset
from gangboard.queues.kueue import QUEUE
from tests.decode.reading import model, with_identity


def test_the_label_of_kueue_is_the_one_that_owners_read() -> None:
    for owner in (job.OWNER, jobset.OWNER):
        named = with_identity({"metadata": {"labels": {QUEUE.owner_label: "gpu-lq"}}})
        assert model(owner.resource, named).queue == "gpu-lq"
