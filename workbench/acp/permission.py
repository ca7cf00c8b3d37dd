"""An approval question as a permission request: what the editor shows, its options, and what an answer means.

Only an option of the same request decides. Any other answer of the editor leaves the question open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from acp.helpers import text_block, tool_content
from acp.schema import (
    AllowedOutcome,
    PermissionOption,
    PermissionOptionKind,
    RequestPermissionResponse,
    ToolCallUpdate,
)
from msgspec import Struct

from workbench.acp.tool_calls import call_kind, call_title, diffs, fenced, locations
from workbench.text import visible
from workbench.view.approval.questions import Always, Decision, Scope
from workbench.view.diff.lines import paint_line
from workbench.view.formatting.approval import RISK_ICONS, on_one_line, painted_changes, what_runs, why_asked
from workbench.view.state import ActionItem

_SCOPES: Final[dict[Scope, str]] = {"session": "in this session", "folder": "in this project"}


class Option(Struct, frozen=True):
    """One option of a permission request, with the decision that it stands for."""

    id: str
    name: str
    kind: PermissionOptionKind
    outcome: Decision | Always


class PermissionQuestion:
    """A question about one action, as the action is at the moment."""

    def __init__(self, item: ActionItem, workspace: str, mode: str) -> None:
        self._item = item
        self._workspace = workspace
        self._mode = mode
        # The number makes an answer to an earlier question about the same action an unknown option.
        self._options = {f"{item.asked}-{option.id}": option for option in _options(item)}

    @property
    def options(self) -> list[PermissionOption]:
        """The options to choose from, in the protocol's form."""
        return [
            PermissionOption(option_id=name, name=each.name, kind=each.kind) for name, each in self._options.items()
        ]

    @property
    def tool_call(self) -> ToolCallUpdate:
        """The tool call that the editor shows with the question."""
        item = self._item
        return ToolCallUpdate(
            tool_call_id=item.action_id,
            title=f"{RISK_ICONS[item.risk]} {item.risk}: {call_title(item, self._workspace)}",
            kind=call_kind(item),
            status="pending",
            content=[tool_content(text_block(_description(item, self._mode))), *diffs(item)],
            locations=locations(item, self._workspace),
            raw_input=item.arguments,
        )

    def answer(self, response: RequestPermissionResponse) -> Option | None:
        """Return the chosen option; None, which decides nothing, if the answer is not one of these options."""
        outcome = response.outcome
        return self._options.get(outcome.option_id) if isinstance(outcome, AllowedOutcome) else None


def _options(item: ActionItem) -> Iterator[Option]:
    yield Option("once", "Allow once", "allow_once", Decision("approved"))
    for number, choice in enumerate(item.always):
        rules = "; ".join(paint_line(rule).text for rule in choice.rules)
        for scope, where in _SCOPES.items():
            if number == 0 or scope == "session":
                name = f"Always allow {where}: {rules}"
                yield Option(f"always-{number}-{scope}", name, "allow_always", Always(choice.text, scope))
    yield Option("reject", "Reject", "reject_once", Decision("rejected"))
    why = "Reject and stop, to say why"
    yield Option("reject-and-stop", why, "reject_once", Decision("rejected", stop=True))


def _description(item: ActionItem, mode: str) -> str:
    """Return, as Markdown, what would run and why it needs approval."""
    lines = [line.text for line in what_runs(item)]
    if any(visible(delta.after or "") != (delta.after or "") for delta in item.preview):
        lines += ["", "The change has characters that cannot be seen. With escapes it is:"]
        lines += [line.text for line in painted_changes(item)]
    reasons = [line.text for line in why_asked(item, mode)]
    if item.no_always:
        reasons.append(f"It cannot be allowed always: {on_one_line(item.no_always)}")
    return "\n\n".join((fenced("\n".join(lines)), fenced("\n".join(reasons))))
