"""The row of an action is put back to a copy from before it was carried out, as a restored database has it."""

from tests.attack.found import Figures
from tests.attack.stored_actions import (
    ask_to_suspend,
    database_of,
    in_cluster,
    running_jobset,
    state_of,
    stopped_act_worker,
    wait_for,
)
from tests.installation import Installation

SECONDS = 40
COPY = "CREATE TABLE IF NOT EXISTS attack_copy AS SELECT * FROM store_action WHERE id = ?"


def attack(board: Installation) -> Figures:
    """A JobSet that was suspended by an action, and resumed by hand, is not suspended a second time."""
    gang = running_jobset(board)
    with stopped_act_worker(board):
        action = ask_to_suspend(board, gang)
        with database_of(board) as database:
            database.execute(COPY, (action,))
    with in_cluster(board, gang) as owner:
        wait_for(lambda: owner.is_suspended, "suspended")
        owner.resume()
        wait_for(lambda: state_of(board, action) == "reverted", "reverted")
        with database_of(board) as database:
            database.execute("DELETE FROM store_actionstep WHERE action_id = ?", (action,))
            database.execute("REPLACE INTO store_action SELECT * FROM attack_copy")
            database.execute("DROP TABLE attack_copy")
        wait_for(lambda: state_of(board, action) == "conflict", "conflict")
        assert not owner.is_suspended
    return {"state": state_of(board, action)}
