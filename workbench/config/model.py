"""The settings as pydantic models: what the form shows of each, and what it may hold. `config` reads the same names.

Loaded only when a form is opened: the screen is painted before pydantic is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

NOW, NEXT_SESSION, NEXT_START = "at once", "from the next session on", "from the next start on"

Auto: TypeAlias = Literal["auto"] | bool
Variable: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)]
"""The name of an environment variable: a key that was pasted in its place is none."""


def _field(
    group: str,
    title: str,
    description: str,
    default: Any = None,
    when: str = NEXT_SESSION,
    *,
    unit: str = "",
    none: str = "",
    **more: Any,
) -> Any:
    """A field with its place on the form, when it counts, and the words for its unit and for nothing or 0."""
    place: dict[str, Any] = {"group": group, "when": when, "unit": unit, "none": none}
    return Field(default, title=title, description=description, json_schema_extra=place, **more)


class TerminalModel(BaseModel):
    """The table `[terminal]`."""

    model_config = ConfigDict(extra="forbid")
    title: Auto = _field("Terminal", "Title", "Folder and state in the window's title.", "auto", NEXT_START)
    progress: Auto = _field("Terminal", "Progress", "A sign on the tab while the agent works.", "auto", NEXT_START)
    notice: Auto = _field(
        "Terminal",
        "Notice",
        "On the desktop, when a question waits and the window is behind.",
        "auto",
        NEXT_START,
    )
    bell: bool = _field("Terminal", "Bell", "Ring when a question waits and cannot be seen.", True, NOW)
    mouse: bool = _field("Terminal", "Mouse", "Take clicks and the wheel.", True, NEXT_START)
    select_copies: bool = _field("Terminal", "Selecting copies", "What the mouse selects is copied.", True, NOW)
    clipboard: bool = _field(
        "Terminal", "Clipboard", "Copies go to the system's clipboard by a program of the system too.", True, NOW
    )
    vim: bool = _field("Terminal", "Vim keys", "The prompt has a normal and an insert mode.", False)
    motion: bool = _field("Terminal", "Motion", "Things may move smoothly and cursors blink.", True, NEXT_START)
    ascii: Auto = _field("Terminal", "ASCII", "Draw with ASCII signs alone.", "auto", NEXT_START)


class ProfileModel(BaseModel):
    """A table `[models.NAME]`."""

    model_config = ConfigDict(extra="forbid")
    model: str = Field(title="Model", description="As PROVIDER/NAME, such as openai/gpt-5.", min_length=1)
    api_base: str | None = _field("", "Address", "Of its server, if not the provider's own.", none="the provider's own")
    api_key_env: Variable | None = _field(
        "", "Key: variable", "The name of the variable that holds its key; never the key itself."
    )
    api_key_file: str | None = _field("", "Key: file", "The file whose first line is its key.")
    api_key_keyring: str | None = _field("", "Key: keyring", "SERVICE/NAME of its key in the keyring of the system.")
    temperature: float | None = _field("", "Temperature", "0 to 2.", none="as the model has it", ge=0, le=2)
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = _field(
        "", "Reasoning", "How much it thinks, as far as the model knows the word.", none="as the model has it"
    )
    max_output_tokens: int | None = _field(
        "", "Answer", "Tokens of one answer, at most.", unit="tokens", none="as the model has it", ge=1
    )
    context_window: int | None = _field(
        "", "Window", "Tokens of its window.", unit="tokens", none="what is known of it", ge=1
    )
    calls: Literal["auto", "native", "text"] = _field("", "Calls", "How it calls tools.", "auto")


class SettingsModel(BaseModel):
    """`settings.toml` but for its tables; the same names and defaults as `config.Settings`."""

    model_config = ConfigDict(extra="forbid")
    model: str | None = _field(
        "Model",
        "Model",
        "What sessions begin with: a profile, or PROVIDER/NAME such as openai/gpt-5.",
        none="none yet",
        min_length=1,
    )
    api_base: str | None = _field(
        "Model",
        "Address",
        "Of a local or compatible server: http://localhost:8000/v1.",
        none="the provider's own",
    )
    api_key: str | None = _field("Model", "Key", "The key itself, neither shown nor written here; name a variable.")
    api_key_env: Variable | None = _field(
        "Model", "Key: variable", "The name of the environment variable that holds the key; never the key itself."
    )
    calls: Literal["auto", "native", "text"] = _field(
        "Model", "Calls", "How tools are called; text is for models that have no tool calling.", "auto"
    )
    context_window: int = _field(
        "Model",
        "Window",
        "Tokens of the model's window; 0 is what is known of it.",
        0,
        unit="tokens",
        none="what is known of it",
        ge=0,
    )
    tool_choice: Literal["none", "auto", "required"] = _field(
        "Model", "Tool choice", "none: calls are refused; required: an answer in words is asked again once.", "auto"
    )
    mode: Literal["medium", "ask", "high", "never", "plan"] = _field(
        "Asking", "Mode", "When you are asked before an action runs.", "medium", NOW
    )
    confirm_unknown: bool = _field(
        "Asking", "Ask if unknown", "Ask too when neither the model nor the workbench can rate an action.", True
    )
    max_steps: int = _field("Limits", "Steps", "Model calls in one run before it pauses.", 100, unit="calls", ge=1)
    token_limit: int = _field(
        "Limits",
        "Tokens",
        "Of one run, in and out, before it pauses; 0 is no limit.",
        0,
        unit="tokens",
        none="no limit",
        ge=0,
    )
    max_cost: float = _field(
        "Limits", "Cost", "US dollars of one run before it pauses; 0 is no limit.", 0.0, unit="$", none="no limit", ge=0
    )
    max_observe: int = _field(
        "Limits",
        "Result",
        "Characters of a tool's result that reach the model; a middle is left out.",
        30_000,
        unit="characters",
        ge=200,
    )
    stop_loops: bool = _field("Limits", "Stop loops", "Pause a run that goes in circles.", True)
    condense_percent: int = _field(
        "History",
        "Condense at",
        "Percent of the model's window; then the middle is summed up. 0 is never.",
        80,
        unit="% of the window",
        none="never",
        ge=0,
    )
    condense_events: int = _field(
        "History",
        "Condense after",
        "Messages sent; then the middle is summed up. 0 is never.",
        500,
        unit="messages",
        none="never",
        ge=0,
    )
    theme: str = _field("Screen", "Theme", "The colours; /theme shows each while you choose.", "ohw-dark", NOW)
    trusted: tuple[str, ...] = _field(
        "Folders",
        "Trusted",
        "Folders whose own tools and rules count as they are found first, with commas between; a change is asked "
        "about. What a folder brings never sets a model, an address, a key, a binding, a mode or this list, and "
        "counts only with trust.",
        (),
        none="none",
    )
    pass_env: tuple[Variable, ...] = _field(
        "Folders",
        "Passed on",
        "Variables of the environment that commands, servers and other programs get though their names say that they "
        "hold secrets, with commas between. What they hold stays masked.",
        (),
        none="none",
    )


def told(info: FieldInfo) -> tuple[str, str]:
    """The group of a field on the form, and from when on it counts."""
    return _about(info, "group"), _about(info, "when")


def measured(info: FieldInfo) -> tuple[str, str]:
    """What its numbers count, and what nothing or 0 stands for."""
    return _about(info, "unit"), _about(info, "none")


def _about(info: FieldInfo, name: str) -> str:
    about = info.json_schema_extra
    return str(about.get(name, "")) if isinstance(about, dict) else ""


def fields_of(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    """The fields of a model in their order."""
    yield from model.model_fields.items()
