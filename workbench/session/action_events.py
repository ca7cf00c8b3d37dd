"""Events of one action, from the call of a tool to its result; part of the contract in `events`, which names them."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import Field

from workbench.security.risk import Risk
from workbench.session.data import EventBase, FileDelta, FileText, Segment, StaleFile

Verdict: TypeAlias = Literal["approved", "rejected", "edited"]


class ActionProposed(EventBase):
    """One tool call of a response. `error` says why it cannot become an action (it is then observed as that error).

    `function` is the tool's name as the model wrote it, `batch` how many calls the response has.
    """

    kind: Literal["action_proposed"] = "action_proposed"
    action_id: str
    response_id: str
    call_id: str
    tool: str
    function: str = ""
    arguments: dict[str, Any] = Field(default_factory=dict)
    thought: str = ""
    summary: str = ""
    risk: Risk = "UNKNOWN"
    position: int = 0
    batch: int = 1
    error: str = ""


class ActionAssessed(EventBase):
    """What is known before anybody is asked. `needs_decision` is false when mode or rule decides by itself.

    Actions of one answer may be assessed ahead of their turn; a later one of the same action takes the place of the
    earlier, and without `needs_decision` it takes the question back until that turn.
    With `needs_answer` the action is a question to the person: nothing runs, and their answer becomes its result.
    `always`: the rule to save; `edited`: the person's own arguments; `stacked`: files as earlier actions leave them.
    `executes`: files that a command runs or reads as code, by path, each with a hash; kept where somebody decides.
    """

    kind: Literal["action_assessed"] = "action_assessed"
    action_id: str
    risk: Risk
    reasons: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = ()
    rule: str = ""
    preview: tuple[FileDelta, ...] = ()
    stale: tuple[StaleFile, ...] = ()
    stacked: tuple[str, ...] = ()
    executes: dict[str, str] = Field(default_factory=dict)
    fingerprint: str = ""
    working_dir: str = ""
    edited: dict[str, Any] | None = None
    needs_decision: bool = True
    needs_answer: bool = False
    always: str = ""


class ActionDecided(EventBase):
    """The decision on one action, committed before it starts; `rule` names the mode or rule that decided.

    Of an action whose files were shown a part may be taken: `hunks` are the accepted hunks of the preview (from 0, over
    its files in order), `written` is what each of its files shall hold. The tool does not run then.
    """

    kind: Literal["action_decided"] = "action_decided"
    action_id: str
    verdict: Verdict
    by: Literal["person", "rule", "mode"]
    rule: str = ""
    note: str = ""
    edited: dict[str, Any] | None = None
    hunks: tuple[int, ...] | None = None
    written: tuple[FileText, ...] | None = None
    fingerprint: str = ""


class ActionStarted(EventBase):
    """The action runs from here on."""

    kind: Literal["action_started"] = "action_started"
    action_id: str


class ActionObserved(EventBase):
    """The result: `observation` is the dumped Observation (content, is_error and the tool's own fields); seconds.

    An action that was rejected, was skipped or could not be read is observed too (`ran` is false), so that each tool
    call has exactly one result.
    """

    kind: Literal["action_observed"] = "action_observed"
    action_id: str
    observation: dict[str, Any]
    duration: float = 0.0
    ran: bool = True
    refused: bool = False
    """The tool itself would not, when it was about to begin."""
    version_after: str | None = None
    files_changed: tuple[FileDelta, ...] = ()


class ActionAbandoned(EventBase):
    """A decided action without a known outcome, found on recovery; it is never run again."""

    kind: Literal["action_abandoned"] = "action_abandoned"
    action_id: str
    reason: str = ""
    known: str = ""
    """What is known of it all the same, as of a sub-agent, in a sentence."""
