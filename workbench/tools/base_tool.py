"""Tools as OpenManus defines them: a class with a name, a description, parameters and an async `execute`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Mapping
from typing import Any, ClassVar, Self

from pydantic import model_validator

from workbench.tools.coercion import checked_name, observed
from workbench.tools.executor import ToolExecutor
from workbench.tools.functions import action_type_from
from workbench.tools.json_schema import copied
from workbench.tools.schema import Action, ImageContent, Observation, TextContent
from workbench.tools.tool import ToolDefinition


class ToolResult(Observation):
    """The result of a tool: output or error, and an image; the model gets them as content."""

    output: Any = None
    error: str | None = None
    base64_image: str | None = None
    system: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _as_content(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or "content" in fields:
            return fields
        error, image = fields.get("error"), fields.get("base64_image")
        text = f"Error: {error}" if error else observed(fields["output"]).text if fields.get("output") else ""
        blocks: list[Any] = [TextContent(text=text)] if text else []
        blocks += [ImageContent(data=image, mime_type="image/png")] if image else []
        return {"is_error": bool(error), **fields, "content": tuple(blocks)}

    def __bool__(self) -> bool:
        """Return whether there is a result at all."""
        return any(getattr(self, name) for name in (*_PARTS, "content"))

    def __str__(self) -> str:
        return self.text

    def __add__(self, other: ToolResult) -> ToolResult:
        """Return both results as one. Raises ValueError if both have an image."""
        if self.base64_image and other.base64_image:
            raise ValueError("Two results with an image each cannot be combined.")
        return ToolResult(**{name: _joined(getattr(self, name), getattr(other, name)) for name in _PARTS})

    def replace(self, **fields: Any) -> Self:
        """Return a copy with other values; its content is derived from them."""
        own = {name: value for name in _PARTS if (value := getattr(self, name)) is not None}
        return type(self)(**{**(own or {"content": self.content, "is_error": self.is_error}), **fields})


_PARTS = ("output", "error", "base64_image", "system")


def _joined(first: Any, second: Any) -> Any:
    return first + second if first and second else first or second


class ToolFailure(ToolResult):
    """The result of a tool that failed."""


class CLIResult(ToolResult):
    """The result of a command."""


class BaseTool(ToolDefinition[Action, Observation]):
    """A tool that is defined by its `execute` method; subclasses set `name` and `description`.

    `parameters` is a JSON schema; without one, the parameters are derived from the type hints of `execute`.
    """

    description: str = ""
    parameters: ClassVar[dict[str, Any] | None] = None

    def __init__(self, **options: Any) -> None:
        """Create the tool; `options` are those of ToolDefinition, and override the attributes of the class."""
        kind = type(self)
        execute, name = self.execute, checked_name(kind)
        named: Mapping[str, str] | None = None
        action_type: Any = self.parameters
        if action_type is None:
            action_type, named = action_type_from(name, execute, {})
        defaults = {"name": name, "description": kind.description or (kind.__doc__ or ""), "action_type": action_type}
        super().__init__(**{**defaults, "executor": _Executing(self, named), **options})

    def __call__(self, *action: Any, **arguments: Any) -> Any:
        """Run an action or a dictionary of arguments, as any tool does. Given only keyword arguments, as in OpenManus,
        return an awaitable for what `execute` returns.
        """
        if action or isinstance(arguments.get("action"), Action | Mapping):
            return super().__call__(*action, **arguments)
        return self._awaited(arguments)

    async def _awaited(self, arguments: dict[str, Any]) -> Any:
        result: Any = self.execute(**arguments)
        return await result if isinstance(result, Awaitable) else result

    def to_param(self) -> dict[str, Any]:
        """Return the function definition with the tool's own parameters only."""
        function = {"name": self.name, "description": self.description, "parameters": copied(self.schema)}
        return {"type": "function", "function": function}

    @abstractmethod
    async def execute(self, **arguments: Any) -> Any:
        """Run the tool and return a ToolResult, or any value that can be shown."""


class _Executing(ToolExecutor[Action, Observation]):
    """Calls `execute` with the arguments of an action."""

    def __init__(self, tool: BaseTool, names: Mapping[str, str] | None) -> None:
        self._tool = tool
        self._names = names

    def __call__(self, action: Action) -> Any:
        """Return the result as an observation; an awaitable for it if `execute` is async."""
        if self._names is None:
            arguments = action.model_dump(by_alias=True, exclude_unset=True)
        else:
            arguments = {name: getattr(action, attribute) for name, attribute in self._names.items()}
        result: Any = self._tool.execute(**arguments)
        return self._later(result) if isinstance(result, Awaitable) else observed(result)

    async def _later(self, result: Awaitable[Any]) -> Observation:
        return observed(await result)
