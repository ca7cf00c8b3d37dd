"""The agent: sends the conversation to a model with the system prompt and the tools, described as the model needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from workbench.agent.agent_kinds import can_only_read
from workbench.agent.prompts import plan_note, system_prompt
from workbench.agent.skills import Skill
from workbench.lazy_pattern import lazy_pattern
from workbench.llm.model import Cancel, Delta, Message, Model, ModelRequest, ModelResponse, ToolChoice
from workbench.text import first_line, visible
from workbench.tools.find_tools.offer import offer_of
from workbench.tools.provider_schema import for_provider
from workbench.tools.tool import ToolDefinition

_SHORT = lazy_pattern(r"gpt-4|\bo[134]\b")


def described_for(model: str, tool: ToolDefinition) -> dict[str, Any]:
    """Return a fresh copy of the tool's description in OpenAI's function format, adapted to the model named `model`.

    Raises ValueError if the model's provider does not accept the tool's schema.
    """
    return _described(model, tool)[0]


def _described(model: str, tool: ToolDefinition) -> tuple[dict[str, Any], list[str]]:
    """Return the tool's description for a model, and the names of parameters that its provider does not accept."""
    described = tool.to_openai_tool(short=bool(_SHORT.search(model.lower())))
    function = described["function"]
    function["parameters"], omitted = for_provider(model, function["parameters"])
    return described, omitted


BeforeCall: TypeAlias = Callable[[Callable[[], bool], Callable[[str], None]], bool]
"""Is called before each model call; its arguments return whether the call is canceled, and show a status line.

Returns whether the tools have changed.
"""


class ActiveModel:
    """The current model of a session; the agent and its tools share this object, so a change applies to both."""

    def __init__(self, model: Model) -> None:
        self.current = model


class Agent:
    """A model with its tools and a system prompt that is built once; holds no state of the conversation."""

    def __init__(
        self,
        model: Model | ActiveModel,
        tools: Mapping[str, ToolDefinition],
        workspace: Path,
        *,
        plan: bool = False,
        tool_choice: ToolChoice = "auto",
        skills: Sequence[Skill] = (),
        before_call: BeforeCall | None = None,
        instructions: str = "",
        on_notice: Callable[[str], None] | None = None,
        on_request: Callable[[ModelRequest], None] = lambda request: None,
    ) -> None:
        """`before_call` may update `tools` before each model call; `on_notice` receives a line about each tool that is
        not offered to a model, or offered without some of its parameters; `on_request` receives each request.
        """
        self._active = model if isinstance(model, ActiveModel) else ActiveModel(model)
        self.tools = tools
        self.plan = plan
        self.tool_choice = tool_choice
        self._offer = offer_of(tools)
        self._offered: dict[str, dict[str, dict[str, Any] | None]] = {}
        self._sizes: dict[tuple[str, bool, int], tuple[int, int]] = {}
        self._prompt = system_prompt(workspace, tools, skills) + (f"\n\n{instructions}" if instructions else "")
        self._before_call = before_call
        self._on_notice = on_notice
        self._on_request = on_request
        self._noticed: set[str] = set()

    @property
    def model(self) -> Model:
        """The model in use; assigning to it replaces the session's model."""
        return self._active.current

    @model.setter
    def model(self, model: Model) -> None:
        self._active.current = model

    def respond(self, messages: Sequence[Message], on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Ask the model for the next response. Raises ModelError; a canceled call returns the part that arrived."""
        if self._before_call is not None and self._before_call(
            lambda: cancel.is_set, lambda text: on_delta(Delta("status", text))
        ):
            self._offered.clear()
            self._sizes.clear()
        request = ModelRequest([self._system(), *messages], self.offered(), self.tool_choice, tools_for=self.offered)
        self._on_request(request)
        return self.model.respond(request, on_delta, cancel)

    def offered(self, model: str = "") -> list[dict[str, Any]]:
        """Return the schemas of the tools that the model may call now; in plan mode, those that can be used read-only.

        The schemas are adapted to the model named `model`; empty for the model in use. A tool whose schema cannot be
        sent to that model is omitted, with a notice.
        """
        model = model or self.model.name
        described = self._offered.setdefault(model, {})
        for name in (names := self._offered_names()):
            if name not in described:
                described[name] = self._describe(name, model)
        return [schema for name in names if (schema := described[name]) is not None]

    def _describe(self, name: str, model: str) -> dict[str, Any] | None:
        try:
            described, omitted = _described(model, self.tools[name])
        except Exception as error:  # noqa: BLE001 - one tool of another's must not fail every request
            self._notice(f"the tool {name} is not offered to {model}: {first_line(str(error), 200)}")
            return None
        if omitted:
            names = ", ".join(visible(each[:40], lines=False) or "(no name)" for each in omitted[:5])
            self._notice(f"the tool {name} is offered to {model} without its parameter {names}")
        return described

    def _notice(self, text: str) -> None:
        if self._on_notice is not None and text not in self._noticed:
            self._noticed.add(text)
            self._on_notice(text)

    @property
    def standing(self) -> tuple[int, int]:
        """The lengths in characters of the system prompt and of the tools' schemas; every request contains both."""
        key = (self.model.name, self.plan, len(self._offered_names()))
        if key not in self._sizes:
            self._sizes[key] = (len(self._system()["content"]), len(json.dumps(self.offered(), ensure_ascii=False)))
        return self._sizes[key]

    def _offered_names(self) -> list[str]:
        """Return the names of the offered tools: those selected with `find_tools`, or all if the agent lacks that tool.

        In plan mode, these are limited to tools that can be used without changing anything but the plan.
        """
        names = self._offer.offered if self._offer else list(self.tools)
        return [name for name in names if not self.plan or self._may_plan(name)]

    def _may_plan(self, name: str) -> bool:
        return can_only_read(self.tools[name])

    def _system(self) -> Message:
        note = plan_note(self._offered_names()) if self.plan else ""
        return {"role": "system", "content": f"{self._prompt}\n\n{note}" if note else self._prompt}
