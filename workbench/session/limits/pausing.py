"""When a run pauses or its agent is nudged: limits, circles, answers without a call.

Pure rules on the state of the session, asked before and after each call of the model.
"""

from __future__ import annotations

from workbench.agent.stuck import Loop
from workbench.llm.model import ToolChoice
from workbench.protocol.events import AgentNudged, Event, ModelResponded, RunEnded
from workbench.session.limits.limits import Limits, TokenCount
from workbench.session.limits.loops import LoopWatch
from workbench.session.state import Ledger

MANY = 3
UNREADABLE = f"{MANY} answers in a row held no call that could be read; tell the agent how to go on"
NO_TOOLS = "tools are switched off (tool_choice is none). Answer in words."
_BROKEN = "the answer broke off before its end; send a message to go on"
_EMPTY = "the model gave an empty answer twice; send a message, or choose another model"
_TOO_LONG = "the answer hit its length limit; send a message to go on"
_WITHHELD = "the provider's content filter ended the answer{}; put the request in other words, or choose another model"
_AFTER_NOTHING = (
    "Your last answer was empty. Go on with the task, answer in words, or call finish when everything is done."
)
_AFTER_WORDS = (
    "Your last answer called no tool, and here each answer should. Call the tool that takes the task further, or "
    "finish when everything is done. If no tool fits, say in words why."
)


def before_call(ledger: Ledger, limits: Limits, tokens: TokenCount, loops: LoopWatch) -> list[Event]:
    """What is to be recorded before the model is called again; with a RunEnded it is not called."""
    end = limits.reached(ledger, tokens)
    if end is not None:
        return [end]
    loop = loops.loop if limits.stop_loops else None
    if loop is None:
        return []
    return [_stuck(loop) if loops.was_told(loop) else _nudged(loop)]


def _nudged(loop: Loop) -> AgentNudged:
    text = (
        f"You seem to go in circles: {loop.evidence}. The same again will not help. Say what you expected and what "
        "came instead, look at the present state in another way, then take another path. If there is none, say so."
    )
    return AgentNudged(reason="stuck", text=text, evidence=loop.evidence)


def _stuck(loop: Loop) -> RunEnded:
    return RunEnded(reason="stuck", detail=f"{loop.evidence}; tell the agent what to do differently")


def after_words(ledger: Ledger, answer: ModelResponded, choice: ToolChoice) -> list[Event]:
    """How the run goes on after an answer without calls: usually it waits for the person."""
    if answer.incomplete:
        return [RunEnded(reason="error", detail=_BROKEN)]
    if any(seq > (answer.seen or 0) for seq in ledger.unread):
        return []
    if answer.finish_reason == "content_filter":
        return [_withheld(bool(answer.text.strip()))]
    if not answer.text.strip():
        end = RunEnded(reason="error", detail=_EMPTY)
        return [end if "empty" in ledger.nudged else AgentNudged(reason="empty", text=_AFTER_NOTHING)]
    is_cut = answer.finish_reason == "length"
    if choice == "required" and not is_cut and "no_call" not in ledger.nudged:
        return [AgentNudged(reason="no_call", text=_AFTER_WORDS)]
    return [RunEnded(reason="waiting", detail=_TOO_LONG if is_cut else "")]


def _withheld(has_words: bool) -> RunEnded:
    """The end of a run whose answer the provider did not let through, or not to its end."""
    if has_words:
        return RunEnded(reason="waiting", detail=_WITHHELD.format(" before it was complete"))
    return RunEnded(reason="error", detail=_WITHHELD.format(" before its first word"))
