"""One prompt of an editor: what a refusal by the engine changes in it."""

from __future__ import annotations

import pytest

from workbench.acp.turn import PromptTurn
from workbench.client.client import CommandRefused
from workbench.view.state import Changed


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_questions_go_on_after_a_refused_stop_but_not_after_a_cancel(is_cancelled: bool):
    turn = PromptTurn()
    turn.has_begun = True
    if is_cancelled:
        turn.cancel()
    else:
        turn.stop("end_turn")
    assert turn.is_stopping
    reason = "this action no longer needs a decision"
    turn.advance(CommandRefused(reason), Changed(refused=reason))
    assert turn.is_stopping is is_cancelled
    assert not turn.reason.done()
