"""The settings: each is declared once, and everything about it is derived from its declaration.

The entries of `[terminal]`, `[container]`, `[telemetry]`, `[[hooks]]` and `[agents.NAME]` are declared in
`terminal_settings`, `container_settings`, `telemetry_settings`, `hook_settings` and `agent_settings`, all others here.

Derived from them are the checks of the settings file, of OHW_NAME in the environment and of command line flags
(`settings`), the flags themselves and their `--help` (`cli.arguments`), the Settings screen, `ohw config` and the table
in the guide.

A setting comes from the user's own file, the environment or the command line, and deliberately never from the files of
a project: the content of a directory never sets a model, a URL, an API key, a key binding or a mode.

`ohw --help` reads this table within 30 ms. Importing `dataclasses` takes a third of that, so `settings` turns the
classes into dataclasses; all other modules import them from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.config.agent_settings import check_agents
from workbench.config.caches import CACHES
from workbench.config.container_settings import ContainerTable
from workbench.config.hook_settings import HookTables
from workbench.config.modes import MODE_NAMES, MODES
from workbench.config.setting_kinds import (
    NOW,
    REQUIRED,
    KeyringEntry,
    Number,
    OneOf,
    RegularExpression,
    Strings,
    Switch,
    Table,
    Text,
    Url,
    VariableName,
    WholeNumber,
    checked_table,
    setting,
)
from workbench.config.telemetry_settings import read_telemetry
from workbench.config.terminal_settings import read_terminal
from workbench.errors import UsageError
from workbench.lazy_pattern import lazy_pattern
from workbench.suggest import near

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
    from typing import Any
else:

    def dataclass(**_: object) -> object:
        """Return a decorator that changes nothing: the module `settings` makes the class a dataclass."""
        return lambda table: table


CALLS = ("auto", "native", "text")
_KEY_SOURCES = ("api_key_env", "api_key_file", "api_key_keyring")
_PRICES = ("input", "output", "cached", "written")
_NAME = lazy_pattern(r"[\w.:/@+-]{1,60}")
_AS_MODEL = "model default"


def _check_price(name: str, value: Any) -> None:
    if not isinstance(value, Mapping) or not {"input", "output"} <= set(value) <= set(_PRICES):
        form = "{ input = …, output = … }, perhaps with cached and written: dollars a million tokens"
        raise UsageError(f"{name} must be {form}")
    for part, dollars in value.items():
        is_number = isinstance(dollars, int | float) and not isinstance(dollars, bool)
        if not is_number or not 0 <= dollars < float("inf"):
            raise UsageError(f"{name}.{part} must be a number of dollars from 0, not {dollars!r}")


@dataclass(frozen=True)
class Profile:
    """A saved model: a table `[models.NAME]`. A model given as provider/model gets a profile with only the general
    settings.
    """

    name: str
    """The NAME in `[models.NAME]`, or the model as provider/model."""
    model: str = setting(REQUIRED, Text(required=True), "Model", "As provider/model, such as openai/gpt-5.")
    api_base: str | None = setting(None, Url(required=True), "URL", "URL of its server.", unset="the provider's own")
    api_key_env: str | None = setting(
        None,
        VariableName(required=True),
        "Key: variable",
        "Name of the environment variable with its key; never the key itself.",
    )
    api_key_file: str | None = setting(
        None, Text(required=True), "Key: file", "Path of the file whose first line is its key."
    )
    api_key_keyring: str | None = setting(
        None, KeyringEntry(required=True), "Key: keyring", "SERVICE/NAME of its key in the system's keyring."
    )
    temperature: float | None = setting(None, Number(2), "Temperature", "From 0 to 2.", unset=_AS_MODEL)
    reasoning_effort: str | None = setting(
        None,
        OneOf("none", "minimal", "low", "medium", "high", "xhigh"),
        "Reasoning",
        "How much it reasons, as far as the model supports it.",
        unset=_AS_MODEL,
    )
    max_output_tokens: int | None = setting(
        None, WholeNumber(1), "Max output", "Tokens of one response at most.", unit="tokens", unset=_AS_MODEL
    )
    context_window: int | None = setting(
        None, WholeNumber(1), "Context window", "Its size in tokens.", unit="tokens", unset="auto-detected"
    )
    calls: str = setting("auto", OneOf(*CALLS), "Tool calling", "How it calls tools.")
    price: Mapping[str, float] | None = setting(
        None,
        Table(_check_price),
        "Price",
        "US dollars per million tokens: input, output, cached, written (to a cache).",
        unset="as known",
    )
    fallback_models: tuple[str, ...] = setting(
        (),
        Strings('models, such as ["fast", "openai/gpt-5"]'),
        "Fallback models",
        "Asked in this order when it is overloaded, unreachable or refuses a request: saved models, or provider/model.",
        unset="none",
    )


def read_profile(name: str, values: object) -> Profile:
    """Return the saved model in the table `[models.NAME]`. Raises a UsageError that names an invalid key."""
    key = f"models.{name}"
    if not _NAME.fullmatch(name):
        raise UsageError(f"models.{name!r}: a name is made of letters, digits and . _ - : / @ +")
    if not isinstance(values, Mapping):
        raise UsageError(f"{key} must be a table: [{key}]")
    checked = checked_table(Profile, key, values)
    if "model" not in checked:
        raise UsageError(f'{key}.model is missing: give the model as "PROVIDER/NAME"')
    if sum(source in checked for source in _KEY_SOURCES) > 1:
        raise UsageError(f"{key}: give one of {', '.join(_KEY_SOURCES)}, not several")
    if "price" in checked:
        checked["price"] = {part: float(dollars) for part, dollars in checked["price"].items()}
    return Profile(name=name, **checked)


def fallback_problems(models: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the names of the saved models whose fallback models cannot be used, each with the reason."""
    problems = {name: _fallback_problem(name, models) for name in models}
    return {name: problem for name, problem in problems.items() if problem}


def _fallback_problem(name: str, models: Mapping[str, Any]) -> str:
    key = f"models.{name}.fallback_models"
    for other in _fallbacks(name, models):
        provider, _, model = other.partition("/")
        if other == name:
            return f"{key} names {name} itself"
        if other not in models and not (provider and model):
            return f"{key}: no model is saved as {other!r}; write it as provider/model{near(other, models)}"
    path = _way_back(name, models)
    return f"{key} leads back to {name}: {' → '.join(path)}" if path else ""


def _way_back(name: str, models: Mapping[str, Any]) -> list[str]:
    """Return the shortest path from a saved model through fallback models to itself; empty if there is none."""
    paths, visited = [[name]], {name}
    for path in paths:
        for other in _fallbacks(path[-1], models):
            if other == name:
                return [*path, name]
            if other not in visited:
                visited.add(other)
                paths.append([*path, other])
    return []


def _fallbacks(name: str, models: Mapping[str, Any]) -> Sequence[str]:
    names: Sequence[str] = models.get(name, {}).get("fallback_models", ())
    return names


def _check_keys(name: str, value: Any) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(keys, str) for keys in value.values()):
        raise UsageError(f"{name} must be a table of binding id = keys")


SANDBOX = {
    "auto": "workspace-write where it can be proven, else a partial sandbox, else off",
    "workspace-write": "they write the workspace only, and reach allowed hosts only",
    "read-only": "they write nothing but temporary files",
    "off": "they can do what you can",
}
"""The values of `sandbox`."""
TOOL_SETS = {"code": "all that read and write", "plan": "only those that read, and the task list"}
"""The values of `tools.set`."""
FILTER = "filter_tools_regex"
"""The key in `[tools]` and `[agents.NAME]` of a regular expression for tool names; OpenHands uses the same key."""


def _check_tools(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} must be a table: [{name}]")
    for tool, state in value.items():
        if tool == "set":
            OneOf(words=TOOL_SETS).check("tools.set", state)
        elif tool == FILTER:
            RegularExpression().check(f"tools.{FILTER}", state)
        elif not isinstance(state, bool | Mapping):
            raise UsageError(f"tools.{tool} must be true, false or a table of parameters, not {state!r}")
        else:
            _check_json(f"tools.{tool}", state)


def _check_models(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} must contain tables, such as [models.fast]")
    for profile, table in value.items():
        read_profile(profile, table)


def _check_terminal(_: str, value: Any) -> None:
    read_terminal(value)


def _check_telemetry(_: str, value: Any) -> None:
    read_telemetry(value)


def _check_servers(name: str, value: Any) -> None:
    """Check the table as a whole. Each server is checked later by `mcp`, which omits only invalid ones."""
    if not isinstance(value, Mapping) or not all(isinstance(server, Mapping) for server in value.values()):
        raise UsageError(f"{name} must contain a table for each server: [mcpServers.NAME]")
    _check_json(name, value)


def _check_json(key: str, value: object) -> None:
    """Raise UsageError for dates and times, because settings are sent to the engine as JSON."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            _check_json(f"{key}.{name}", part)
    elif isinstance(value, list):
        for part in value:
            _check_json(key, part)
    elif not isinstance(value, str | int | float):
        raise UsageError(f"{key} must not contain a date or a time; write it as text")


@dataclass(frozen=True)
class Settings:
    """All settings. The names are the same in `settings.toml`, in the environment (OHW_NAME) and as flags."""

    model: str | None = setting(
        None,
        Text(),
        "Model",
        "The model of new sessions: a saved model's name, or provider/model such as openai/gpt-5.",
        group="Model",
        unset="none yet",
        flag="NAME",
    )
    api_base: str | None = setting(
        None,
        Url(),
        "URL",
        "URL of a local or OpenAI-compatible server, such as http://localhost:8000/v1.",
        group="Model",
        unset="the provider's own",
        flag="URL",
    )
    api_key: str | None = setting(
        None,
        Text(),
        "Key",
        "The API key itself, never shown or saved here; set api_key_env.",
        group="Model",
        is_secret=True,
    )
    api_key_env: str | None = setting(
        None,
        VariableName(),
        "Key: variable",
        "Name of the environment variable with the API key; never the key itself.",
        group="Model",
    )
    calls: str = setting(
        "auto",
        OneOf(*CALLS),
        "Tool calling",
        "How tools are called: native, text (for models without tool calling), or auto.",
        group="Model",
    )
    context_window: int = setting(
        0,
        WholeNumber(0),
        "Context window",
        "Size of the model's context window, for models the workbench does not know; 0 detects it.",
        group="Model",
        unit="tokens",
        unset="auto-detected",
    )
    tool_choice: str = setting(
        "auto",
        OneOf("none", "auto", "required"),
        "Tool choice",
        "Whether the model calls tools: auto, none (calls are refused), or required (text alone is asked again once).",
        group="Model",
        flag="CHOICE",
    )
    mode: str = setting(
        "medium",
        OneOf(words={name: mode.meaning for name, mode in MODES.items()}, labels=MODE_NAMES),
        "Mode",
        "When to ask before an action runs.",
        group="Asking",
        takes_effect=NOW,
        flag="MODE",
    )
    confirm_unknown: bool = setting(
        True,
        Switch(),
        "Ask if unknown",
        "Also ask when neither the model nor the workbench can rate an action. "
        "Without it the modes Ask (medium+), Accept edits and Ask (high only) let such an action run.",
        group="Asking",
    )
    sandbox: str = setting(
        "auto",
        OneOf(words=SANDBOX),
        "Sandbox",
        "What commands and Python code of the agent can reach; see the guide on safety.",
        group="Asking",
        flag="KIND",
    )
    sandbox_caches: tuple[str, ...] = setting(
        (),
        Strings('caches, such as ["uv", "npm"]', of=OneOf(*CACHES)),
        "Sandbox caches",
        "Caches of package managers that commands may write; what they put there, you run later.",
        group="Asking",
        unset="none",
    )
    container: Mapping[str, Any] = setting(
        {},
        ContainerTable(),
        "Container",
        "What commands run in, if `image` names one; see the guide on containers.",
        flag="IMAGE",
    )
    max_steps: int = setting(
        100,
        WholeNumber(1),
        "Steps",
        "Model calls in one run before it pauses.",
        group="Limits",
        unit="calls",
        flag="N",
    )
    token_limit: int = setting(
        0,
        WholeNumber(0),
        "Tokens",
        "Tokens in one run, in and out, before it pauses; 0 means no limit.",
        group="Limits",
        unit="tokens",
        unset="no limit",
        flag="N",
    )
    max_cost: float = setting(
        0.0,
        Number(what="an amount of dollars such as 0.50"),
        "Cost",
        "US dollars in one run before it pauses; 0 means no limit. Without a known price the run pauses once and says "
        "so; token_limit works for every model.",
        group="Limits",
        unit="$",
        unset="no limit",
        flag="N",
    )
    max_observe: int = setting(
        30_000,
        WholeNumber(0),
        "Max tool output",
        "Characters of a tool's result that reach the model; the middle of a longer one is omitted. 0 means no limit.",
        group="Limits",
        unit="characters",
        unset="no limit",
        flag="N",
    )
    stop_loops: bool = setting(True, Switch(), "Stop loops", "Pause a run that repeats itself.", group="Limits")
    condense_percent: int = setting(
        80,
        WholeNumber(0),
        "Compact at",
        "Compact the history when it fills more of the context window; 0 is never.",
        group="History",
        unit="% of the window",
        unset="never",
    )
    condense_events: int = setting(
        500,
        WholeNumber(0),
        "Compact after",
        "Compact the history when it is sent as more messages; 0 is never.",
        group="History",
        unit="messages",
        unset="never",
    )
    commit_trailers: bool = setting(
        False,
        Switch(),
        "Commit trailers",
        "Let /commit name the models (Assisted-by) and the session at the end of the message.",
        group="History",
    )
    theme: str = setting(
        "ohw-dark",
        Text(),
        "Theme",
        "The color theme; /theme previews them.",
        group="Screen",
        takes_effect=NOW,
        flag="NAME",
    )
    trusted: tuple[str, ...] = setting(
        (),
        Strings('directories, such as ["/home/me/project"]'),
        "Trusted",
        "Directories whose own tools, rules, hooks and sub-agents take effect as first found; a change is asked about. "
        "What a directory contains never sets a model, a URL, an API key, a key binding, a mode or this list; its "
        "sub-agents may name a saved model.",
        group="Directories",
        unset="none",
    )
    pass_env: tuple[str, ...] = setting(
        (),
        Strings('variables, such as ["GITHUB_TOKEN"]', of=VariableName(required=True)),
        "Variables passed on",
        "Environment variables that commands, servers and other programs get although their names look like secrets. "
        "Their values stay masked.",
        group="Directories",
        unset="none",
    )
    keys: Mapping[str, str] = setting(
        {}, Table(_check_keys), "Keys", "Keyboard shortcuts: binding id = keys, separated by commas.", takes_effect=NOW
    )
    tools: Mapping[str, Any] = setting(
        {}, Table(_check_tools), "Tools", "Which tools the agent has, and their parameters; see the guide on tools."
    )
    models: Mapping[str, Any] = setting(
        {}, Table(_check_models), "Models", "Saved models, a table [models.NAME] each; see the guide on models."
    )
    agents: Mapping[str, Any] = setting(
        {},
        Table(check_agents),
        "Sub-agents",
        "Kinds of sub-agents, a table [agents.NAME] each; see the guide on tools.",
    )
    hooks: tuple[Mapping[str, Any], ...] = setting(
        (), HookTables(), "Hooks", "Programs that run at events, a table [[hooks]] each; see the guide on hooks."
    )
    terminal: Mapping[str, Any] = setting(
        {}, Table(_check_terminal), "Terminal", "Title, bell, notifications, mouse; see the guide on terminals."
    )
    telemetry: Mapping[str, Any] = setting(
        {},
        Table(_check_telemetry),
        "Telemetry",
        "Spans for OpenTelemetry, sent if `enabled`; see the guide on telemetry.",
    )
    mcpServers: Mapping[str, Any] = setting(
        {},
        Table(_check_servers),
        "MCP servers",
        "MCP servers, a table [mcpServers.NAME] each; see the guide on MCP.",
        is_secret=True,
    )
    from_flags: tuple[str, ...] = ()
    """The names of the settings that came from flags; only these change a session that is resumed."""
    accepts_foreign: bool = False
    """Whether the user agreed to open a session file of unknown origin, whose mode, model and rules are ignored."""
    problems: tuple[str, ...] = ()
    """After a lenient read, one line about each problem in the settings file."""
    rules: tuple[str, ...] = ()
    """The rules a new session starts with, one line each: the demo's, or those of a sub-agent's parent."""

    def profile(self, name: str) -> Profile:
        """Return the saved model `name`; for any other name, such as provider/model, one with the general settings."""
        shared = {"calls": self.calls} | ({"context_window": self.context_window} if self.context_window else {})
        if name not in self.models:
            return Profile(name, name, self.api_base, calls=self.calls, context_window=self.context_window or None)
        by_flag = {"api_base": self.api_base} if name == self.model and "api_base" in self.from_flags else {}
        return read_profile(name, {**shared, **self.models[name], **by_flag})
