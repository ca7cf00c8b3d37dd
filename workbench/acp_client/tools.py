"""The tools of a session whose agent is another program: each answers the program, or records what it has done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from msgspec.structs import replace
from pydantic import Field

from workbench.acp_client.calls import REPORT, UNCHECKED
from workbench.acp_client.link import AgentFailed
from workbench.acp_client.requests import PermissionRequest, WriteRequest
from workbench.acp_client.run import AgentProposal, AgentRun
from workbench.files.root_directory import real_path
from workbench.processes.launch import Launcher
from workbench.protocol.presentation import Presentation
from workbench.tools.context import CURRENT_ACTION, ToolContext
from workbench.tools.effects import (
    START_AGENT,
    AssessmentContext,
    Effect,
    OwnWords,
    RunsCommand,
    SelfRated,
    StartsAgent,
    TouchesFile,
)
from workbench.tools.execute_bash import NAME as SHELL
from workbench.tools.execute_bash.definition import leaving
from workbench.tools.executor import FileChange, ToolExecutor
from workbench.tools.schema import Action, Observation
from workbench.tools.str_replace_editor import NAME as EDITOR
from workbench.tools.str_replace_editor.definition import (
    FileEditorExecutor,
    StrReplaceEditorAction,
    StrReplaceEditorObservation,
)
from workbench.tools.task_tracker.definition import TaskTrackerTool
from workbench.tools.tool import DeclaredTool, ToolAnnotations, ToolDefinition

_CHANGED = (
    "{name} asked to do something else and accepts only a yes or a no. The call is rejected, and your change is sent "
    "to it."
)
_GONE = "{name} no longer waits for this: {why}."
RAN_REJECTED = "Ran although it was rejected"
NO_END = "End not reported"
_IN_OWN_WORDS = frozenset({"input", "details", "paths"})
"""The arguments of a call that contain the agent's own words, which can be anything."""
_NOT_READING = (
    "{name} was not started: in this run it may only read, and no sandbox would keep it from writing. Do the task "
    "yourself."
)

_STARTING = Presentation(
    icon="⇉",
    ascii_icon=">",
    noun="start of an agent",
    activity="starting",
    headline="{command:exact}",
    title="Start {agent}: {command:exact}",
    question="Start {agent}",
    subject="command",
    result="head",
)

_OWN_NOTE = "Its own description, not checked. {name} does this itself; {limits}."
_CALLING = Presentation(icon="◇", noun="call of the agent", headline="{title:exact}", subject="title")

_REPORTING = Presentation(
    icon="◇",
    noun="report",
    activity="reporting",
    headline="{title:exact}[ · {command:exact}]",
    title="Unasked: {title:exact}[ · {command:exact}]",
    subject="title",
)
_WARNING = replace(_REPORTING, icon="!", noun="warning", title="{problem}: {title:exact}[ · {command:exact}]")


def _plain(name: str) -> str:
    """Return the name of an agent without the characters that have a meaning in templates."""
    return "".join(sign for sign in name if sign not in "{}[]")


def _limits(launcher: Launcher | None) -> str:
    return "only its sandbox limits it" if is_contained(launcher) else "no sandbox limits it"


def is_contained(launcher: Launcher | None) -> bool:
    """Return whether a sandbox confines what the launcher starts."""
    return launcher is not None and bool(launcher.containment)


def tools_of(run: AgentRun, context: ToolContext) -> list[ToolDefinition]:
    """Return the tools of the session of a sub-agent."""
    launcher = context.sandbox if run.link.config.is_confined else None
    return [
        StartAgentTool(StartExecutor(run, launcher, leaves=context.sandbox if launcher is None else None)),
        AgentCommandTool(CommandExecutor(run, launcher)),
        AgentEditTool(run, context, launcher),
        AgentCallTool(CallExecutor(run, context, launcher)),
        AgentReportTool(ReportExecutor(run)),
        *TaskTrackerTool.create(context),
    ]


class StartAgentAction(Action):
    """Starts the program of an agent."""

    can_read_only: ClassVar[bool] = True

    agent: str = Field(description="The name of the agent.")
    command: str = Field(description="The command line of its program.")
    variables: list[str] = Field(default_factory=list, description="The variables that it gets.")
    read_only: bool = Field(False, description="Whether the program is started where it can only read.")
    outside_sandbox: bool = Field(False, description="Whether it runs outside the sandbox, as its settings say.")

    @property
    def reads_only(self) -> bool:
        """Whether the program can only read."""
        return self.read_only


class StartAgentTool(DeclaredTool[StartAgentAction, Observation]):
    """Starts another agent's program, which then acts on its own, limited only by its sandbox if it has one."""

    name = START_AGENT
    description = short_description = "Starts the program of another agent."
    action_type = StartAgentAction
    observation_type = Observation
    annotations = ToolAnnotations.writing("Start an agent", open_world=True)

    def __init__(self, executor: StartExecutor) -> None:
        super().__init__(executor)

    def present(self, arguments: Mapping[str, Any]) -> Presentation:
        """Return the presentation, which lists the variables that the program gets."""
        variables = arguments.get("variables") or ()
        return replace(_STARTING, note=f"It gets {', '.join(map(str, variables))}." if variables else "")

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return the start, with what confines the program, or that it leaves the sandbox."""
        if leaves := leaving(arguments, self.executor):
            return leaves
        sandbox = self.executor.sandbox if self.executor is not None else None
        return (StartsAgent(is_contained(sandbox), only_reads=bool(arguments.get("read_only"))),)


class StartExecutor(ToolExecutor[StartAgentAction, Observation]):
    """Starts the agent's program; `leaves` is the sandbox, if the program's settings exempt it from that."""

    def __init__(self, run: AgentRun, launcher: Launcher | None, *, leaves: Launcher | None) -> None:
        self._run = run
        self._launcher = launcher
        self.sandbox = launcher or leaves
        self.program = run.link.config.program

    def __call__(self, action: StartAgentAction) -> Observation:
        """Start the program; return the name and the version that it reports."""
        try:
            name = self._run.link.start(self._launcher)
        except AgentFailed as error:
            return Observation.from_text(f"{self._run.name} could not be started: {error}.", is_error=True)
        return Observation.from_text(f"{name} is ready.")

    def preparation(self, action: StartAgentAction) -> Callable[[], Observation] | None:
        """Return a function that refuses the start if the program may only read and no sandbox ensures that."""
        if not action.read_only or (self._launcher is not None and self._launcher.holds):
            return None
        return lambda: Observation.from_text(_NOT_READING.format(name=self._run.name), is_error=True)

    def interrupt(self) -> None:
        """Cancel the start."""
        self._run.link.stop_starting()

    def close(self) -> None:
        """End the program."""
        self._run.link.close()


class AgentCommandAction(Action):
    """A command line that the agent wants to run."""

    command: str = Field(description="The command line.")


class AgentCommandTool(DeclaredTool[AgentCommandAction, Observation]):
    """Lets the agent run a command line; rules for our own shell apply to it."""

    name = SHELL
    description = short_description = "Lets the agent run a command line."
    action_type = AgentCommandAction
    observation_type = Observation
    annotations = ToolAnnotations.writing("Run a command", open_world=True)

    def __init__(self, executor: CommandExecutor) -> None:
        super().__init__(executor)

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return the command line as the effect; outside a sandbox, also that it is only what the agent says it will
        run.
        """
        sandbox = self.executor.sandbox if self.executor is not None else None
        granted = tuple(sandbox.granted) if sandbox is not None else ()
        runs = RunsCommand(str(arguments.get("command", "")), granted=granted)
        return (runs,) if is_contained(sandbox) else (runs, OwnWords())

    def recorded_presentation(self, arguments: Mapping[str, Any]) -> Presentation | None:
        """Return the presentation, which says that the agent runs the command line itself."""
        executor = self.executor
        note = "{name} runs this itself; {limits}."
        return executor.presentation(note) if isinstance(executor, _Answering) else None


class _Answering(ToolExecutor[Any, Any]):
    """An executor that grants a request of the agent if the user approved exactly what was requested."""

    def __init__(self, run: AgentRun, launcher: Launcher | None) -> None:
        self._run = run
        self.sandbox = launcher

    def _granted(
        self, action: Any, files: tuple[FileChange, ...] = (), write: Callable[[str], Observation] | None = None
    ) -> Observation:
        proposal = self._run.proposal(CURRENT_ACTION.get())
        if proposal is None or not isinstance(proposal.subject, PermissionRequest):
            return _gone(self._run)
        if not is_as_proposed(action, proposal):
            return Observation.from_text(_CHANGED.format(name=self._run.name), is_error=True)
        return self._run.granted(proposal, files, self.on_output, write)

    def presentation(self, note: str) -> Presentation:
        """Return a presentation with the agent's name and a note; in `note`, `{name}` and `{limits}` are replaced."""
        name = _plain(self._run.name)
        return Presentation(agent=name, note=note.format(name=name, limits=_limits(self.sandbox)))

    def is_ours(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether the agent has asked the workbench to make this edit, instead of making it itself."""
        return self._run.is_write(arguments)

    def interrupt(self) -> None:
        """Ask the agent to stop."""
        self._run.stop()


def is_as_proposed(action: Action, proposal: AgentProposal) -> bool:
    """Return whether an action is exactly what the agent asked for: the user has not edited it."""
    return bool(action == type(action).model_validate(dict(proposal.arguments)))


def _gone(run: AgentRun) -> Observation:
    why = run.link.gone or "its turn is over"
    return Observation.from_text(_GONE.format(name=run.name, why=why), is_error=True)


class CommandExecutor(_Answering):
    """Allows the agent to run the command, and waits for its end."""

    def __call__(self, action: AgentCommandAction) -> Observation:
        """Return what the agent reports about the command."""
        return self._granted(action)


class AgentEditTool(DeclaredTool[StrReplaceEditorAction, StrReplaceEditorObservation]):
    """Our editor, for the edits of another agent; rules for the editor apply to it."""

    name = EDITOR
    description = short_description = "Edits a file for the agent, or lets the agent edit it."
    action_type = StrReplaceEditorAction
    observation_type = StrReplaceEditorObservation
    annotations = ToolAnnotations.writing("Edit a file")

    def __init__(self, run: AgentRun, context: ToolContext, launcher: Launcher | None) -> None:
        super().__init__(EditExecutor(run, context, launcher))

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return the operation on the file as the only effect."""
        return (TouchesFile(str(arguments.get("command", "edit")), str(arguments.get("path", ""))),)

    def recorded_presentation(self, arguments: Mapping[str, Any]) -> Presentation | None:
        """Return the presentation, which says that the agent edits the file itself; None if the workbench writes it."""
        executor = self.executor
        if not isinstance(executor, _Answering) or executor.is_ours(arguments):
            return None
        return executor.presentation("{name} edits this itself; the file is compared with this afterwards.")


class EditExecutor(_Answering):
    """Writes a file for the agent, or allows the agent to write it and compares the result."""

    def __init__(self, run: AgentRun, context: ToolContext, launcher: Launcher | None) -> None:
        super().__init__(run, launcher)
        self._editor = FileEditorExecutor(context.workspace, context.state_dir)

    def __call__(self, action: StrReplaceEditorAction) -> StrReplaceEditorObservation:
        """Make the edit, or allow the agent to, and return the result or the agent's report."""
        proposal = self._run.proposal(CURRENT_ACTION.get())
        if proposal is not None and isinstance(proposal.subject, WriteRequest) and not self._run.link.gone:
            return self._written(action, proposal, proposal.subject)
        result = self._granted(action, tuple(self.preview(action)), lambda path: self._editor(action))
        return StrReplaceEditorObservation(content=result.content, is_error=result.is_error)

    def _written(
        self, action: StrReplaceEditorAction, proposal: AgentProposal, request: WriteRequest
    ) -> StrReplaceEditorObservation:
        """Write the file, and confirm that to the agent if exactly what it sent was written.

        Otherwise the request stays open, and is refused later with the result as the reason.
        """
        result = self._editor(action)
        if not result.is_error and is_as_proposed(action, proposal):
            proposal.is_done = True
            request.confirm()
        return result

    def preparation(self, action: StrReplaceEditorAction) -> Callable[[], StrReplaceEditorObservation] | None:
        """Return a function that reports why the edit is impossible; None if it is possible."""
        return self._editor.preparation(action)

    def preview(self, action: StrReplaceEditorAction) -> Sequence[FileChange]:
        """Return the change that the edit makes to the file."""
        return self._editor.preview(action)


class AgentCallAction(Action):
    """A call that the agent wants to make, described in its own words."""

    title: str = Field(description="What the agent calls it.")
    command: str = Field("", description="The command line in it, if there is one.")
    edits: list[StrReplaceEditorAction] = Field(default_factory=list, description="The edits in it.")
    input: str = Field("", description="Its input, as JSON.")
    details: str = Field("", description="What the agent shows about it.")
    paths: list[str] = Field(default_factory=list, description="The files that it names.")


class AgentCallTool(DeclaredTool[AgentCallAction, Observation]):
    """Lets the agent make a call that is not just one command line or one edit."""

    name = UNCHECKED
    description = short_description = "Lets the agent make a tool call of its own."
    action_type = AgentCallAction
    observation_type = Observation
    annotations = ToolAnnotations.writing("Call of another agent", open_world=True)

    def __init__(self, executor: CallExecutor) -> None:
        super().__init__(executor)

    def present(self, arguments: Mapping[str, Any]) -> Presentation:
        """Return a presentation that names the agent and describes its limits."""
        executor = self.executor
        form = executor.presentation(_OWN_NOTE) if isinstance(executor, _Answering) else Presentation()
        title = f"Let {form.agent or 'the agent'}: {{title:exact}}"
        return replace(_CALLING, title=title, question=title, note=form.note)

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return the edits and the command line, and `OwnWords` for what only the agent's words say."""
        edits, paths = arguments.get("edits") or (), arguments.get("paths") or ()
        effects: list[Effect] = [TouchesFile(str(edit["command"]), str(edit["path"])) for edit in edits]
        effects += [TouchesFile("edit", str(path)) for path in paths if str(path).startswith("/")]
        if line := str(arguments.get("command") or ""):
            effects.append(RunsCommand(line))
        return (*effects, *(() if effects and _IN_OWN_WORDS.isdisjoint(arguments) else (OwnWords(),)))


class CallExecutor(_Answering):
    """Allows the agent to make the call, and waits for its end."""

    def __init__(self, run: AgentRun, context: ToolContext, launcher: Launcher | None) -> None:
        super().__init__(run, launcher)
        self._editor = FileEditorExecutor(context.workspace, context.state_dir)

    def __call__(self, action: AgentCallAction) -> Observation:
        """Return what the agent reports about the call."""
        return self._granted(action, tuple(self.preview(action)), lambda path: self._written(action, path))

    def _written(self, action: AgentCallAction, path: str) -> Observation:
        """Make the edit in the action that is for this file."""
        return self._editor(next(edit for edit in action.edits if real_path(edit.path) == real_path(path)))

    def preview(self, action: AgentCallAction) -> Sequence[FileChange]:
        """Return the changes that all edits of the action make."""
        return [change for edit in action.edits for change in self._editor.preview(edit)]


class AgentReportAction(Action):
    """A call that the agent has made without asking."""

    title: str = Field(description="What the agent calls it.")
    command: str = Field("", description="The command line in it, if there is one.")
    problem: str = Field("", description="What is wrong with it.")


class AgentReportTool(DeclaredTool[AgentReportAction, Observation]):
    """Records what the agent has done without asking; running the tool changes nothing."""

    name = REPORT
    description = short_description = "Records what the agent has done without asking."
    action_type = AgentReportAction
    observation_type = Observation
    annotations = ToolAnnotations.reading("Report of another agent")

    def __init__(self, executor: ReportExecutor) -> None:
        super().__init__(executor)

    def present(self, arguments: Mapping[str, Any]) -> Presentation:
        """Return the presentation, which warns if something is wrong with the call."""
        return _WARNING if arguments.get("problem") else _REPORTING

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return a low risk: the call has happened already, and is only recorded here."""
        return (SelfRated("LOW", "it is only recorded"),)


class ReportExecutor(ToolExecutor[AgentReportAction, Observation]):
    """Returns what the agent has reported."""

    def __init__(self, run: AgentRun) -> None:
        self._run = run

    def __call__(self, action: AgentReportAction) -> Observation:
        """Return the result that the agent reported for the call."""
        proposal = self._run.proposal(CURRENT_ACTION.get())
        call = proposal.subject if proposal is not None else None
        if proposal is None or call is None or isinstance(call, PermissionRequest | WriteRequest):
            return _gone(self._run)
        proposal.is_done = True
        result = call.result or f"It is {call.status}."
        text = f"{action.problem}. {result}" if action.problem else result
        if call.is_over:
            call.forget()
        return Observation.from_text(text, is_error=bool(action.problem) or call.status == "failed")
