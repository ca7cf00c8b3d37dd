"""Sessions whose model calls cost something, in a directory of a test's own."""

from __future__ import annotations

from datetime import timedelta

from tests.tui.decision_files import decisions
from tests.tui.sample_session import START
from tests.tui.session_files import keep
from workbench.protocol import events as ev
from workbench.protocol.usage import Usage


def call(
    cost: float | None = 0.05, model: str = "claude-sonnet-4-5", turn: int = 1, **tokens: int
) -> ev.ModelResponded:
    """Return one answer of a model to a message."""
    usage = Usage(**{"input": 40_000, "output": 600, "cached": 30_000, **tokens})
    return ev.ModelResponded(
        response_id="r", model=model, text="Done.", usage=usage, cost=cost, latency=12.0, turn=turn
    )


def keep_spent(*, has_decisions: bool = False) -> None:
    """Store a session of today with two messages and a sub-agent, one of five days ago, and one of last year."""
    own = call(0.01, "gpt-5-mini")
    step = ev.DelegateStep(action_id="h", agent="tester", session="s1-tester", event=own, turn=2)
    second = [ev.UserMessage(text="And now the tests"), call(0.2, turn=2), step, call(0.1, turn=2)]
    second += decisions() if has_decisions else []
    keep("s1", "Fix unknown countries", call(), call(0.04), *second, at=START)
    keep("s1-tester", "Run the tests", call(0.01, "gpt-5-mini"), at=START, parent="s1")
    keep("s2", "Plan the release", call(1.5), at=START - timedelta(days=5))
    keep("s3", "An older one", call(None, "local/llama"), at=START - timedelta(days=400))
