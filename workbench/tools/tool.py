"""The definition of a tool: name, action and observation types, hints, and the executor that runs it.

The session calls tools and the agent sends their schemas to the model; both depend only on `ToolDefinition`.
"""

from __future__ import annotations

import copy
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Generic, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.errors import UsageError
from workbench.protocol.presentation import Presentation, checked_presentation
from workbench.text import first_line, well_formed
from workbench.tools.arguments import ArgumentError, action_from_arguments
from workbench.tools.context import ConversationState
from workbench.tools.effects import AssessmentContext, Effect
from workbench.tools.executor import ActionT, FileChange, ObservationT, ToolExecutor
from workbench.tools.json_schema import copied
from workbench.tools.manifest import GENERIC, manifest_of, presentation_of
from workbench.tools.schema import Observation

logger = logging.getLogger(__name__)
_RISK = {
    "type": "string",
    "enum": ["LOW", "MEDIUM", "HIGH"],
    "description": "How much harm this call could do: LOW reads or changes little and can be undone, MEDIUM changes "
    "files or state of this project, HIGH could lose data, leak secrets or reach beyond this project.",
}
_SUMMARY = {"type": "string", "description": "What this call is for, in about ten words."}


class MissingExecutor(UsageError, NotImplementedError):
    """The tool has no executor. Also a NotImplementedError, which OpenHands' tool interface raises in this case."""


class ToolAnnotations(BaseModel):
    """The five hints of the Model Context Protocol, with the protocol's defaults."""

    model_config = ConfigDict(frozen=True)
    title: str | None = None
    readOnlyHint: bool = False
    destructiveHint: bool = True
    idempotentHint: bool = False
    openWorldHint: bool = True

    @classmethod
    def reading(cls, title: str, *, idempotent: bool = True, open_world: bool = False) -> Self:
        """Return the hints of a read-only tool, whose calls need no approval."""
        return cls(
            title=title, readOnlyHint=True, destructiveHint=False, idempotentHint=idempotent, openWorldHint=open_world
        )

    @classmethod
    def writing(cls, title: str, *, open_world: bool = False) -> Self:
        """Return the hints of a tool whose calls may change or delete something."""
        return cls(
            title=title, readOnlyHint=False, destructiveHint=True, idempotentHint=False, openWorldHint=open_world
        )


class ToolBase(ABC, Generic[ActionT, ObservationT]):
    """A factory that creates the tools of a session."""

    @classmethod
    @abstractmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Return the tools for a session, ready to run."""


class ToolDefinition(ToolBase[ActionT, ObservationT]):
    """A tool. Tools with state are subclasses; others can be instances of this class."""

    is_remote: ClassVar[bool] = False
    """Whether calls go to another program, whose hints are not trusted."""

    def __init__(
        self,
        *,
        name: str,
        description: str,
        action_type: type[ActionT],
        observation_type: type[ObservationT] | None = None,
        short_description: str = "",
        annotations: ToolAnnotations | None = None,
        executor: ToolExecutor[ActionT, ObservationT] | None = None,
        ends_run: bool = False,
        asks_user: bool = False,
        presentation: Presentation | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.short_description = short_description or description
        self.action_type = action_type
        self.observation_type: type[Observation] = observation_type or Observation
        self.annotations = annotations or ToolAnnotations()
        self.executor = executor
        self.ends_run = ends_run
        self.asks_user = asks_user
        self.presentation = presentation or presentation_of(name, {})
        self._schema: dict[str, Any] | None = None

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Return one instance created with `params`; tools that need the session's workspace override this."""
        return (cls(**params),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def is_read_only(self) -> bool:
        """Whether the tool changes nothing outside the session, so calls need no approval."""
        return self.annotations.readOnlyHint

    def present(self, arguments: Mapping[str, Any]) -> Presentation:
        """Return the presentation of a call with these arguments; subclasses may compute it from them."""
        return presentation_of(self.name, arguments, self.presentation)

    def recorded_presentation(self, arguments: Mapping[str, Any]) -> Presentation | None:
        """Return the presentation to log with a call; None for built-in tools, the default, and an invalid one."""
        if manifest_of(self.name) is not None:
            return None
        try:
            presentation = checked_presentation(self.present(arguments))
        except Exception:  # the tool's own code
            logger.exception("the presentation of the tool %s cannot be used", self.name)
            return None
        return None if presentation == GENERIC else presentation

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Iterable[Effect]:
        """Return the effects that a call would have; `workbench.tools.effects` explains how far they are trusted."""
        return ()

    def set_executor(self, executor: ToolExecutor[ActionT, ObservationT]) -> Self:
        """Return a copy of the tool with this executor."""
        changed = copy.copy(self)
        changed.executor = executor
        return changed

    def as_executable(self) -> Self:
        """Return the tool itself. Raises MissingExecutor if it has no executor."""
        self._runner()
        return self

    def _runner(self) -> ToolExecutor[ActionT, ObservationT]:
        if self.executor is None:
            raise MissingExecutor(f"The tool {self.name!r} has no executor; give it one with set_executor().")
        return self.executor

    def action_from_arguments(self, arguments: dict[str, Any]) -> ActionT:
        """Return the validated action. Raises an ArgumentError that lists the mistakes and the allowed parameters."""
        try:
            return action_from_arguments(self.action_type, arguments)
        except ArgumentError:
            raise
        except Exception as error:  # the tool's own validators may raise anything
            raise ArgumentError(f"the arguments could not be checked ({error_line(error)}).") from error

    def __call__(self, action: ActionT) -> Observation:
        """Run the action; any exception from the executor becomes an observation with `is_error`."""
        run = self._runner()
        observation = _guarded(self, lambda: run(action))
        if not isinstance(observation, Observation):
            kind = type(observation).__name__
            return self.error(f"{self.name} failed: it gave back a {kind} where an Observation belongs.")
        return observation

    def preparation(self, action: ActionT) -> Callable[[], Observation | None] | None:
        """Return slow work that must precede `preview`, or None; it returns an error if the action cannot run."""
        try:
            prepare = self.executor.preparation(action) if self.executor else None
        except Exception:  # noqa: BLE001 - then running the action shows what is wrong
            return None
        return None if prepare is None else lambda: _guarded(self, prepare)

    def error(self, text: str) -> Observation:
        """Return an error observation of the tool's own type, or a plain one if that type has more required fields."""
        try:
            return self.observation_type.from_text(text, is_error=True)
        except ValidationError:
            return Observation.from_text(text, is_error=True)

    def preview(self, action: ActionT) -> Sequence[FileChange]:
        """Return the file changes that the action would make; empty if they are unknown."""
        try:
            return tuple(self.executor.preview(action)) if self.executor else ()
        except Exception:  # noqa: BLE001 - without a preview the action is still asked about, by its arguments
            return ()

    def working_dir(self) -> str | None:
        """Return the directory that an action would run in; None means the workspace."""
        try:
            return self.executor.working_dir() if self.executor else None
        except Exception:  # noqa: BLE001 - then the question names the workspace
            return None

    def interrupt(self) -> None:
        """End a running call soon; exceptions from the executor are ignored."""
        if self.executor is not None:
            with suppress(Exception):
                self.executor.interrupt()

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the tool's own arguments; cached, so callers must not change it."""
        if self._schema is None:
            self._schema = self.action_type.to_mcp_schema()
        return self._schema

    def to_openai_tool(self, *, short: bool = False) -> dict[str, Any]:
        """Return a new function definition for a chat request, with `security_risk` and `summary` first."""
        text = self.short_description if short else self.description
        function = {
            "name": self.name,
            "description": text,
            "parameters": copied(_with_extras(self.schema, self.is_read_only)),
        }
        return {"type": "function", "function": function}

    def to_mcp_tool(self) -> dict[str, Any]:
        """Return a new tool definition for MCP, with the tool's own arguments only."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": copied(self.schema),
            "annotations": self.annotations.model_dump(exclude_none=True),
        }

    def close(self) -> None:
        """Close the executor; an exception is logged and not raised."""
        try:
            if self.executor is not None:
                self.executor.close()
        except Exception:
            logger.exception("the tool %s could not be closed", self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _guarded(tool: ToolDefinition, work: Callable[[], Any]) -> Any:
    """Return the result of the tool's own code, or an error observation for any exception."""
    try:
        return work()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary: a tool's failure is a value for the model
        return tool.error(f"{tool.name} failed: {error_line(error)}. Nothing is known about what it did until then.")


def _with_extras(schema: dict[str, Any], is_read_only: bool) -> dict[str, Any]:
    extras = {"summary": _SUMMARY} if is_read_only else {"security_risk": _RISK, "summary": _SUMMARY}
    required = [name for name in extras if name == "security_risk"]
    required += [name for name in schema.get("required", ()) if name not in required]
    properties = {**extras, **schema.get("properties", {})}
    return {**schema, "properties": properties, **({"required": required} if required else {})}


def error_line(error: BaseException) -> str:
    """Return an exception from a tool's own code as one line."""
    text = first_line(well_formed(str(error)), 300)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class DeclaredTool(ToolDefinition[ActionT, ObservationT]):
    """A tool defined by class attributes, which mean the same as the parameters of `ToolDefinition`."""

    name: str
    description: str
    short_description: str
    action_type: type[ActionT]
    observation_type: type[ObservationT]
    annotations: ToolAnnotations
    ends_run: bool = False
    asks_user: bool = False

    def __init__(self, executor: ToolExecutor[ActionT, ObservationT]) -> None:
        super().__init__(
            name=self.name,
            description=self.description,
            short_description=self.short_description,
            action_type=self.action_type,
            observation_type=self.observation_type,
            annotations=self.annotations,
            executor=executor,
            ends_run=self.ends_run,
            asks_user=self.asks_user,
        )


class StatelessTool(DeclaredTool[ActionT, ObservationT]):
    """A declared tool that needs nothing of its session, so it can be created without one."""

    @classmethod
    def create(cls, conv_state: ConversationState | None = None, **params: Any) -> Sequence[ToolDefinition]:
        """Return one instance created with `params`."""
        return (cls(**params),)
