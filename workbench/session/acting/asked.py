"""A model's answer to a tool goes into the log as what it cost; wired to the tools' way to the model by `opening`."""

from __future__ import annotations

from dataclasses import asdict

from workbench.llm.model import ModelResponse
from workbench.protocol.events import ModelAsked, Usage
from workbench.session.acting.running import CALL_PLACE


def tell_of_answer(response: ModelResponse) -> None:
    """Record it for the action that runs, or is being prepared, in this thread."""
    place = CALL_PLACE.get()
    if place is not None:
        usage = Usage(**asdict(response.usage))
        asked = ModelAsked(
            action_id=place.action_id, model=response.model, usage=usage, cost=response.cost, latency=response.latency
        )
        place.report(asked)
