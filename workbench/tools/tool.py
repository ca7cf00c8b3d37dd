"""The definition of a tool: name, action and observation types, hints, and the executor that runs it.

The session calls tools and the agent sends their schemas to the model; both depend only on `ToolDefinition`.
"""

from __future__ import annotations

import copy
import functools
import inspect
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.errors import UsageError
from workbench.protocol.presentation import Presentation, checked_presentation
from workbench.text import well_formed
from workbench.tools.coercion import (
    DerivedName,
    NotRun,
    ToolError,
    WrongResult,
    action_from,
    action_type_of,
    as_executor,
    call_with,
    checked_action,
    checked_name,
    error_line,
    observation_from,
    observation_type_of,
    one_of,
    snake_case,
)
from workbench.tools.context import ConversationState, ToolContext
from workbench.tools.coroutines import CoroutineRunner
from workbench.tools.effects import AssessmentContext, Effect
from workbench.tools.executor import ActionT, FileChange, ObservationT, ToolExecutor
from workbench.tools.json_schema import copied
from workbench.tools.manifest import GENERIC, manifest_of, presentation_of
from workbench.tools.schema import Observation

logger = logging.getLogger(__name__)
T = TypeVar("T")
_Definition: TypeAlias = dict[str, Any]
Runner: TypeAlias = "ToolExecutor[ActionT, ObservationT] | Callable[..., Any]"
"""An executor, or a function, perhaps an async one, that is called with the action."""
ActionKind: TypeAlias = "type[ActionT] | Mapping[str, Any] | bool | None"
ObservationKind: TypeAlias = "type[ObservationT] | Mapping[str, Any] | bool | None"
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

    def __init_subclass__(cls, **options: Any) -> None:
        """Name the subclass after itself, unless it has a `name` or inherits one: `CountWordsTool` is `count_words`."""
        super().__init_subclass__(**options)
        if isinstance(getattr(cls, "name", DerivedName()), DerivedName):
            cls.name = DerivedName(snake_case(cls.__name__))

    def __init__(
        self,
        *,
        name: str = "",
        description: str,
        action_type: ActionKind = None,
        observation_type: ObservationKind = None,
        input_schema: ActionKind = None,
        output_schema: ObservationKind = None,
        short_description: str = "",
        annotations: ToolAnnotations | Mapping[str, Any] | None = None,
        executor: Runner | None = None,
        ends_run: bool = False,
        asks_user: bool = False,
        presentation: Presentation | None = None,
    ) -> None:
        """Define a tool; a type may be a JSON schema, and `input_schema` and `output_schema` are other names for them.

        Raises TypeError or ValueError for a type that cannot be used.
        """
        self.name = name or checked_name(type(self))
        self.description = well_formed(description)
        self.short_description = well_formed(short_description) or self.description
        self.action_type: type[ActionT] = action_type_of(self.name, one_of(action_type, input_schema))
        output = one_of(observation_type, output_schema) or Observation
        self.observation_type: type[Observation] = observation_type_of(self.name, output)
        self.annotations = ToolAnnotations.model_validate(annotations or {})
        self.executor: ToolExecutor[ActionT, ObservationT] | None = as_executor(executor)
        self.ends_run = ends_run
        self.asks_user = asks_user
        self.presentation = presentation or presentation_of(self.name, {})
        self._coroutines = CoroutineRunner()

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Return one instance created with `params`; tools that need the session's workspace override this."""
        return (cls(**params),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def title(self) -> str:
        """The title of the tool for users; its name if there is none."""
        return self.annotations.title or self.name

    @property
    def is_read_only(self) -> bool:
        """Whether the tool changes nothing outside the session, so calls need no approval."""
        return self.annotations.readOnlyHint

    def present(self, arguments: Mapping[str, Any]) -> Presentation:
        """Return the presentation of a call with these arguments; subclasses may compute it from them."""
        return presentation_of(self.name, arguments, self.presentation)

    def recorded_presentation(self, arguments: Mapping[str, Any]) -> Presentation | None:
        """Return the presentation to log with a call; None for a built-in tool, or if it is the default or invalid."""
        return None if manifest_of(self.name) is not None else _recorded(self, arguments)

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Iterable[Effect]:
        """Return the effects that a call would have; `workbench.tools.effects` explains how far they are trusted."""
        return ()

    def set_executor(self, executor: Runner) -> Self:
        """Return a copy of the tool with this executor."""
        changed = copy.copy(self)
        changed.executor = as_executor(executor)
        changed._coroutines = CoroutineRunner()
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
        """Return the validated action. Raises an ArgumentError that lists the invalid and the allowed parameters."""
        return action_from(self.action_type, arguments)

    def __call__(self, action: ActionT | Mapping[str, Any], conversation: object = None) -> Observation:
        """Run an action, or a dictionary of arguments. Arguments and result are validated; any failure becomes an
        observation with `is_error`. Executors that take a `conversation` get the one given here.
        """
        run = self._runner()

        def work() -> Observation:
            checked = checked_action(self.name, self.action_type, action)
            result = self._coroutines.finished(call_with(run, checked, conversation))
            return observation_from(self.observation_type, result)

        observation: Observation = _guarded(self, work)
        return observation

    def preparation(self, action: ActionT) -> Callable[[], Observation | None] | None:
        """Return a function for slow work before `preview`, or None; it returns an error if the action cannot run."""
        prepare = _attempt(lambda: self._runner().preparation(action))
        return None if prepare is None else lambda: _guarded(self, prepare)

    def error(self, text: str) -> Observation:
        """Return an error observation of the tool's own type, or a plain one if that type has more required fields."""
        try:
            return self.observation_type.from_text(text, is_error=True)
        except ValidationError:
            return Observation.from_text(text, is_error=True)

    def preview(self, action: ActionT) -> Sequence[FileChange]:
        """Return the file changes that the action would make; empty if they are unknown."""
        return _attempt(lambda: tuple(self._runner().preview(action))) or ()

    def working_dir(self) -> str | None:
        """Return the directory that an action would run in; None means the workspace."""
        return _attempt(lambda: self._runner().working_dir())

    def interrupt(self) -> None:
        """End a running call soon; exceptions from the executor are ignored."""
        self._coroutines.interrupt()
        _attempt(lambda: self._runner().interrupt())

    @functools.cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the tool's own arguments; cached, so callers must not change it."""
        return self.action_type.to_mcp_schema()

    @functools.cached_property
    def output_schema(self) -> dict[str, Any] | None:
        """The JSON schema of the observation; None if the tool has no observation type of its own. Cached as well."""
        return None if self.observation_type is Observation else self.observation_type.to_mcp_schema()

    def to_openai_tool(self, add_security_risk_prediction: bool | None = None, *, short: bool = False) -> _Definition:
        """Return a new function definition for a chat request; by default with `security_risk` for tools that write."""
        return {"type": "function", "function": _function(self, short, add_security_risk_prediction)}

    def to_responses_tool(
        self, add_security_risk_prediction: bool | None = None, *, short: bool = False
    ) -> _Definition:
        """Return what `to_openai_tool` returns, but in the flat form of OpenAI's responses API."""
        return {"type": "function", **_function(self, short, add_security_risk_prediction), "strict": False}

    def to_mcp_tool(
        self, input_schema: dict[str, Any] | None = None, output_schema: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return a new tool definition for MCP, with the tool's own arguments only; a given schema replaces its own."""
        return _mcp_form(self, input_schema or self.schema, output_schema or self.output_schema)

    def close(self) -> None:
        """Close the executor; an exception is logged and not raised."""
        try:
            self._coroutines.close(getattr(self.executor, "close", None))
        except Exception:
            logger.exception("the tool %s could not be closed", self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _attempt(work: Callable[[], T]) -> T | None:
    """Return the result of the tool's own code, or None for any exception."""
    try:
        return work()
    except Exception:  # noqa: BLE001 - without the answer an action is still asked about, by its arguments
        return None


def _guarded(tool: ToolDefinition, work: Callable[[], Any]) -> Any:
    """Return the result of the tool's own code, or an error observation for any exception."""
    try:
        return work()
    except NotRun as error:
        return tool.error(f"{tool.name} was not run: {error}")
    except ToolError as error:
        return tool.error(well_formed(error.message))
    except WrongResult as error:
        return tool.error(f"{tool.name} failed: {error}. It has run, and what it did stays.")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the boundary: a tool's failure is a value for the model
        return tool.error(f"{tool.name} failed: {error_line(error)}. Nothing is known about what it did until then.")


def _function(tool: ToolDefinition, short: bool, asks_risk: bool | None = None) -> dict[str, Any]:
    """Return a definition with `security_risk` (by default for tools that may write) and `summary` first.

    `asks_risk` is `add_security_risk_prediction` of OpenHands: True adds `security_risk`, False omits it.
    """
    return {
        "name": tool.name,
        "description": tool.short_description if short else tool.description,
        "parameters": copied(_with_extras(tool.schema, not tool.is_read_only if asks_risk is None else asks_risk)),
    }


def _mcp_form(tool: ToolDefinition, inputs: dict[str, Any], output: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": copied(inputs),
        **({"outputSchema": copied(output)} if output else {}),
        "annotations": tool.annotations.model_dump(exclude_none=True),
    }


def _recorded(tool: ToolDefinition, arguments: Mapping[str, Any]) -> Presentation | None:
    try:
        presentation = checked_presentation(tool.present(arguments))
    except Exception:  # the tool's own code
        logger.exception("the presentation of the tool %s cannot be used", tool.name)
        return None
    return None if presentation == GENERIC else presentation


def _with_extras(schema: dict[str, Any], asks_risk: bool) -> dict[str, Any]:
    extras = {"security_risk": _RISK, "summary": _SUMMARY} if asks_risk else {"summary": _SUMMARY}
    required = [name for name in extras if name == "security_risk"]
    required += [name for name in schema.get("required", ()) if name not in required]
    properties = {**extras, **schema.get("properties", {})}
    return {**schema, "properties": properties, **({"required": required} if required else {})}


_DECLARED = (
    *("name", "description", "short_description", "action_type", "observation_type", "annotations"),
    *("ends_run", "asks_user"),
)


class DeclaredTool(ToolDefinition[ActionT, ObservationT]):
    """A tool defined by class attributes, named like `ToolDefinition`'s parameters; `create` also takes `executor`."""

    name: str
    description: str
    short_description: str
    action_type: type[ActionT]
    observation_type: type[ObservationT]
    annotations: ToolAnnotations
    ends_run: bool = False
    asks_user: bool = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.create = _taking_executor(inspect.getattr_static(cls, "create"))  # type: ignore[method-assign]

    def __init__(self, executor: ToolExecutor[ActionT, ObservationT] | None) -> None:
        super().__init__(**{name: getattr(self, name) for name in _DECLARED}, executor=executor)


DeclaredT = TypeVar("DeclaredT", bound=DeclaredTool)


def _taking_executor(method: Any) -> Any:
    """Return a `create` that calls `method`, or takes an executor instead, which tools may share, as in OpenHands.

    Without a conversation state, the new `create` makes the tool for the current directory.
    """
    create = method.__func__
    parameters = inspect.signature(create).parameters
    if hasattr(create, "__wrapped__") or "executor" in parameters:
        return method
    needs_state = "conv_state" in parameters and parameters["conv_state"].default is inspect.Parameter.empty

    def created(cls: Any, *states: Any, executor: Any = None, **params: Any) -> Any:
        if executor is None:
            if needs_state and not states:
                params.setdefault("conv_state", ToolContext(str(Path.cwd())))
            return create(cls, *states, **params)
        own = sorted(params.keys() - {"conv_state"})
        if own:
            raise TypeError(f"{cls.__name__}.create() takes an executor or parameters: omit {', '.join(own)}")
        return (described(cls).set_executor(executor),)

    wrapped: Any = functools.wraps(create)(created)
    return classmethod(wrapped)


def described(kind: type[DeclaredT]) -> DeclaredT:
    """Return the definition without an executor: it has the schema, and `set_executor` makes it executable."""
    tool = kind.__new__(kind)
    DeclaredTool.__init__(tool, None)
    return tool


class StatelessTool(DeclaredTool[ActionT, ObservationT]):
    """A declared tool that needs no session, so it can be created without one."""

    @classmethod
    def create(cls, conv_state: ConversationState | None = None, **params: Any) -> Sequence[ToolDefinition]:
        """Return one instance created with `params`."""
        return (cls(**params),)
