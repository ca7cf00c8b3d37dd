"""Prepares an action: finds out what would run, what a decision on it is bound to, its risk, and what the rules say."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from workbench.config.modes import NEVER
from workbench.files.root_directory import on_top_of, real_path
from workbench.protocol.events import ActionAssessed, ActionProposed, AlwaysChoice, FileDelta, Segment
from workbench.protocol.risk import Risk, effective
from workbench.risk import Assessment, RatingContext, executed_by
from workbench.risk.actions import named_paths
from workbench.risk.paths import within
from workbench.risk.read_only import only_looks
from workbench.rules.allowed_tools import limit_of
from workbench.rules.offers import offers
from workbench.rules.policy import PROTECTED, Ruling, edits_workspace, mode_label, rule_on
from workbench.rules.protected_writes import unplaced_write
from workbench.rules.rule_set import BROKEN, RuleSet, deciding, guarded_by
from workbench.rules.subject import Subject, subject_of
from workbench.secrets.masker import masks_in
from workbench.session.actions.fingerprint import executed_changes, fingerprint
from workbench.session.actions.refusals import RULE as REFUSED
from workbench.session.actions.refusals import Refusals, repeats
from workbench.session.actions.run import PreparedAction
from workbench.session.actions.stale_files import overlap_reasons, pending_contents, stacked, stale_files
from workbench.session.assessments import Assessments
from workbench.session.state import OpenAction, State
from workbench.text import visible_path
from workbench.tools.arguments import ArgumentError
from workbench.tools.execute_bash.definition import leaving
from workbench.tools.manifest import kind_of
from workbench.tools.tool import ToolDefinition

EDITED = "you changed what the agent proposed"
"""The reason to ask the user about arguments that they have edited, whatever the mode."""
_NO_TOOL = "there is no tool {name!r} here. The tools are: {tools}."
_MASKED = (
    "it contains {mask}, which replaces a secret that is hidden from you; writing it would destroy the secret. "
    "Leave that part as it is: change only the text around it, or ask the user."
)


class Preparer:
    """Prepares the actions of one session."""

    def __init__(self, tools: Mapping[str, ToolDefinition], state: State, assessments: Assessments) -> None:
        self._tools = tools
        self._state = state
        self._assessments = assessments

    def ready(
        self,
        tool_name: str,
        arguments: dict[str, Any],
        action_id: str = "",
        stacked_files: Collection[str] | None = None,
    ) -> PreparedAction:
        """Return the action as it would run. Raises ArgumentError for an unknown tool or invalid arguments.

        With `action_id`, files are shown as earlier actions of its batch will leave them. To compute the fingerprint of
        an earlier question again, pass the files that it showed like that as `stacked_files`.
        """
        tool = self._named(tool_name)
        action = tool.action_from_arguments(arguments)
        _check_masks(tool, arguments)
        pending = self.pending(action_id)
        with on_top_of(pending):
            preparation = tool.preparation(action)
            changes = () if preparation else tool.preview(action)
        files = tuple(FileDelta(path=f.path, before=f.before, after=f.after) for f in changes)
        directory = tool.working_dir() or self._state.workspace
        on_top = stacked(changes, pending) if stacked_files is None else tuple(stacked_files)
        executes = self._executed(tool, arguments, directory, pending)
        reads = () if files or not reads_only(tool, arguments) else _real_paths(arguments, self._state.workspace)
        print_ = fingerprint(tool.name, arguments, directory, files, on_top, executes=executes, reads=reads)
        return PreparedAction(
            tool,
            action,
            files,
            directory,
            print_,
            preparation,
            stale=stale_files(changes, self._state.writers),
            stacked=on_top,
            beside=overlap_reasons(changes, pending),
            executes=executes,
            reads=tuple(reads),
            difference=partial(self._differs, tool, arguments, directory, pending, executes),
        )

    def _named(self, name: str) -> ToolDefinition:
        tool = self._tools.get(name)
        if tool is None:
            raise ArgumentError(_NO_TOOL.format(name=name, tools=", ".join(sorted(self._tools))))
        return tool

    def _differs(
        self,
        tool: ToolDefinition,
        arguments: dict[str, Any],
        cwd: str,
        before: Mapping[str, str | None],
        executes: Mapping[str, str],
    ) -> str:
        """Describe in one line how the files that the action executes differ from `executes`; empty if they do not.

        `before` maps the files that earlier actions of its batch write to their contents.
        """
        if not executes:
            return ""
        return executed_changes(executes, self._executed(tool, arguments, cwd, before), cwd)

    def _executed(
        self, tool: ToolDefinition, arguments: dict[str, Any], directory: str, before: Mapping[str, str | None]
    ) -> dict[str, str]:
        rated = self._assessments.of(tool, arguments)
        return executed_by(rated, tool, arguments, RatingContext(self._state.workspace, directory), before)

    def pending(self, action_id: str) -> dict[str, str | None]:
        """Return the contents that files will have once the actions before this one have run; None for deleted
        files.
        """
        return pending_contents(self._state, action_id) if action_id else {}


def _check_masks(tool: ToolDefinition, arguments: dict[str, Any]) -> None:
    masked = None if tool.is_read_only else masks_in(arguments.values())
    if masked:
        raise ArgumentError(_MASKED.format(mask=masked))


_STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}
MOST_SEGMENTS = 60
"""The most parts of a command that one event contains; the most dangerous ones are selected."""
_ORDER = {"HIGH": 0, "MEDIUM": 1, "UNKNOWN": 2, "LOW": 3}
_STILL_YOURS = "you were asked about it before, and no mode or rule set since then decides it"
_DENIED = "{rule} denies it now, but it still needs your decision"
_STAYS_INSIDE = (
    "it was not run: in this mode nothing runs outside the sandbox. Find a way inside it, or tell the user what to run."
)
_HEIGHT: tuple[Risk, ...] = ("LOW", "MEDIUM", "UNKNOWN", "HIGH")
"""The ratings from lowest to highest, as the user understands them: UNKNOWN is above MEDIUM."""


class Rater:
    """Rates the actions of one session, and applies its rules and its mode to the ratings."""

    def __init__(
        self,
        state: State,
        rules: RuleSet,
        refusals: Refusals | None = None,
        assessments: Assessments | None = None,
    ) -> None:
        self._state = state
        self._rules = rules
        self._assessments = assessments or Assessments(state)
        self._refusals = refusals or Refusals(state)

    def local(self, proposed: ActionProposed, tool: ToolDefinition) -> Assessment:
        """Return the rating of our own analysis, regardless of the model's."""
        return self._assessments.of(tool, proposed.arguments)

    def ruling(
        self, proposed: ActionProposed, tool: ToolDefinition, local: Assessment | None = None
    ) -> tuple[Risk, Ruling]:
        """Return the effective risk, and the verdict of the current rules and mode."""
        local = local or self.local(proposed, tool)
        risk = _effective(proposed.risk, local)
        rules, subject = self._rules.rules(self._state.rules), self._subject(proposed, local)
        reads = tool.action_type.can_read_only and _can_read_only(tool, proposed.arguments)
        if kind_of(tool.name) == "command":
            workspace = self._state.workspace
            is_inside = within(tool.working_dir() or workspace, workspace)
            reads = risk == "LOW" and is_inside and only_looks(proposed.arguments, local, workspace)
        limit = limit_of(self._state.command, subject, tool, reads=reads)
        if limit is not None:
            return risk, limit
        if self._state.mode == NEVER and leaving(proposed.arguments, tool.executor):
            return risk, Ruling("deny", mode_label(NEVER), _STAYS_INSIDE)
        caution = BROKEN if self._rules.is_broken else ""
        ruling = rule_on(
            self._state.mode,
            risk,
            tool.is_read_only,
            tool.name,
            reads=reads,
            reader=self._rules.reader_with(tool.name),
            edits=edits_workspace(subject),
            rule=deciding(rules, subject),
            caution=caution,
            protected=guarded_by(rules, subject),
            unplaced=unplaced_write(subject),
            confirm_unknown=self._rules.confirm_unknown,
            containment="" if leaving(proposed.arguments, tool.executor) else _containment(tool),
        )
        again = repeats(subject, self._refusals.effects()) if risk != "LOW" else ""
        if again and ruling.verdict == "allow":
            return risk, Ruling("ask", REFUSED, again, by="rule")
        return risk, ruling

    def waited(self, action_id: str, ruling: Ruling) -> str:
        """Return why the user still decides despite the ruling, which is that they were already asked about this
        action.

        Empty if they were not, or if the ruling asks the user anyway.
        """
        action = self._state.batch.get(action_id)
        if action is None or not action.was_asked or ruling.verdict == "ask":
            return ""
        return _STILL_YOURS if ruling.verdict == "allow" else _DENIED.format(rule=ruling.rule)

    def verdict(self, action: OpenAction, tool: ToolDefinition, edited: dict[str, Any] | None = None) -> Ruling:
        """Return the current ruling of mode and rules; `edited` are the user's own arguments, or None."""
        arguments = action.arguments if edited is None else edited
        return self.ruling(replace(action.proposed, arguments=arguments), tool)[1]

    def strictest(self, proposed: ActionProposed, readied: PreparedAction) -> tuple[Assessment, Risk, Ruling]:
        """Rate the path in the call and the file that it leads to; return the stricter rating and ruling.

        They differ if the path is a link. A link can change between two checks, but the action uses only the file that
        was checked. The user is asked in every mode about a write through a link that leads out of the workspace.
        """
        ruled = self._ruled(proposed, readied.tool)
        path = proposed.arguments.get("path")
        used = readied.paths
        if len(used) != 1 or not isinstance(path, str) or path == used[0]:
            return ruled
        real = replace(proposed, arguments={**proposed.arguments, "path": used[0]})
        local, risk, ruling = max(
            ruled, self._ruled(real, readied.tool), key=lambda one: (_STRICTNESS[one[2].verdict], _HEIGHT.index(one[1]))
        )
        workspace = os.path.normpath(self._state.workspace)
        leaves = readied.files and within(os.path.normpath(path), workspace) > within(used[0], workspace)
        if ruling.verdict == "allow" and leaves:
            ruling = Ruling("ask", "", f"the path leads out of the workspace, to {visible_path(used[0])}")
        return local, risk, ruling

    def _ruled(self, proposed: ActionProposed, tool: ToolDefinition) -> tuple[Assessment, Risk, Ruling]:
        local = self.local(proposed, tool)
        return local, *self.ruling(proposed, tool, local)

    def guarded(self, proposed: ActionProposed, local: Assessment) -> str:
        """Return a protected path that the action changes and that no rule of the user names; empty if there is
        none.
        """
        return guarded_by(self._rules.rules(self._state.rules), self._subject(proposed, local))

    def doubt(self, action: OpenAction, tool: ToolDefinition) -> str:
        """Return why the user might now decide differently about the same action; empty if there is no reason.

        Something that ran since the decision may have made it more dangerous, or the user may have refused its effect
        since.
        """
        if action.started:
            return ""  # its sub-agent is already running, and continues
        proposed = replace(action.proposed, arguments=action.arguments)
        local = self.local(proposed, tool)
        risk = _effective(proposed.risk, local)
        if action.assessed is not None and is_riskier(risk, action.assessed.risk):
            return f"it was {action.assessed.risk} when you decided, and is {risk} now"
        if risk == "LOW" or action.decided is None:
            return ""
        return repeats(self._subject(proposed, local), self._refusals.effects(since=action.decided.at))

    def with_always(
        self, event: ActionAssessed, proposed: ActionProposed, local: Assessment, ruling: Ruling, because: str
    ) -> ActionAssessed:
        """If the event asks the user, return it with the choices of "always allow", or with the reason why there are
        none.

        `because` is a reason to ask despite mode and rules, or "".
        """
        if not event.needs_decision:
            return event
        if event.edited is not None:
            because = because or EDITED
        if because or ruling.rule in (PROTECTED, REFUSED):
            return replace(event, no_always=because or ruling.reason)
        rules = self._rules.rules(self._state.rules)
        usable, why = offers(self._subject(proposed, local), event.risk, self._state.mode, rules)
        choices = tuple(AlwaysChoice(label=offer.label, rules=offer.lines) for offer in usable)
        return replace(event, always=choices[0].text if choices else "", always_choices=choices, no_always=why)

    def _subject(self, proposed: ActionProposed, local: Assessment) -> Subject:
        return subject_of(proposed.tool, proposed.arguments, local, self._state.workspace)


def _containment(tool: ToolDefinition) -> str:
    """Return the name, for decisions, of what confines everything that a call runs, such as a sandbox; "" if nothing
    does.
    """
    sandbox = tool.executor.sandbox if tool.executor is not None else None
    return sandbox.containment if sandbox is not None else ""


def _effective(model: Risk, local: Assessment) -> Risk:
    """Return the higher of the two ratings, but at least MEDIUM if our analysis did not understand a part."""
    risk = effective(model, local.risk)
    is_unknown = local.risk == "UNKNOWN" and any(part.risk == "UNKNOWN" for part in local.parts)
    return "MEDIUM" if risk == "LOW" and is_unknown else risk


def reads_only(tool: ToolDefinition, arguments: dict[str, Any]) -> bool:
    """Return whether the call only reads, according to its tool or its arguments."""
    return tool.is_read_only or (tool.action_type.can_read_only and _can_read_only(tool, arguments))


def _real_paths(arguments: dict[str, Any], workspace: str) -> tuple[str, ...]:
    return tuple(map(real_path, named_paths(arguments, workspace)))


def _can_read_only(tool: ToolDefinition, arguments: dict[str, Any]) -> bool:
    try:
        return bool(tool.action_from_arguments(arguments).reads_only)
    except ArgumentError:
        return False


def is_riskier(risk: Risk, previous: Risk) -> bool:
    """Return whether a risk is higher than the previous one."""
    return _HEIGHT.index(risk) > _HEIGHT.index(previous)


def reasons(local: Assessment, *, shows_diff: bool) -> tuple[str, ...]:
    """Return the reasons for the rating; empty if they are shown with its parts, or if it is not HIGH and a diff is
    shown.
    """
    return () if len(local.parts) > 1 or (shows_diff and local.risk != "HIGH") else local.reasons


def segments(local: Assessment) -> tuple[Segment, ...]:
    """Return the parts of an assessment in the order of the command, at most MOST_SEGMENTS; none if there is only
    one.
    """
    if len(local.parts) < 2:
        return ()
    chosen = list(range(len(local.parts)))
    if len(local.parts) > MOST_SEGMENTS:
        chosen = sorted(sorted(chosen, key=lambda at: _ORDER[local.parts[at].risk])[:MOST_SEGMENTS])
    return tuple(
        Segment(text=part.text, risk=part.risk, reason=part.reason) for part in map(local.parts.__getitem__, chosen)
    )
