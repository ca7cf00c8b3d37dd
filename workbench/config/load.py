"""Settings from TOML, environment and flags, and the folders of the XDG base directory specification.

Plain dataclasses, so that the screen's first paint waits for no validation library.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from workbench.config.check import ONLY_IN_FILE, check_tables, checked_values
from workbench.config.edit import read_settings
from workbench.config.profiles import Profile, read_profile
from workbench.errors import UsageError


@dataclass(frozen=True)
class Locations:
    """The folders of one person; nothing is created before it is needed."""

    config: Path
    data: Path
    state: Path
    runtime: Path

    @classmethod
    def from_environment(cls, env: Mapping[str, str] = os.environ) -> Locations:
        """The `ohw` folders under the XDG variables, or their defaults under the home folder."""
        home = Path(env.get("HOME") or Path.home())
        return cls(
            config=_base(env, "XDG_CONFIG_HOME", home / ".config") / "ohw",
            data=_base(env, "XDG_DATA_HOME", home / ".local/share") / "ohw",
            state=_base(env, "XDG_STATE_HOME", home / ".local/state") / "ohw",
            runtime=_runtime(env),
        )

    @property
    def settings_file(self) -> Path:
        """`settings.toml` of the person."""
        return self.config / "settings.toml"

    @property
    def rules_file(self) -> Path:
        """`rules.toml` of the person."""
        return self.config / "rules.toml"

    @property
    def themes(self) -> Path:
        """The person's own themes."""
        return self.config / "themes"

    @property
    def skills(self) -> Path:
        """The person's own skills."""
        return self.config / "skills"

    @property
    def prompt_history(self) -> Path:
        """What the person sent, in all sessions."""
        return self.state / "prompt-history.jsonl"

    @property
    def sessions(self) -> Path:
        """Session files, one a session."""
        return self.data / "sessions"

    @property
    def logs(self) -> Path:
        """Log files of engines."""
        return self.state / "logs"


def _base(env: Mapping[str, str], name: str, default: Path) -> Path:
    value = env.get(name, "")
    return Path(value) if value.startswith("/") else default  # the specification ignores relative paths


def _runtime(env: Mapping[str, str]) -> Path:
    value = env.get("XDG_RUNTIME_DIR", "")
    if value.startswith("/") and len(value) < 60:  # a socket path has at most 107 bytes
        return Path(value) / "ohw"
    shared = tempfile.gettempdir() if len(tempfile.gettempdir()) < 60 else "/tmp"
    return Path(shared) / f"ohw-{os.getuid()}"  # itself the private folder: nobody else may own what is around ours


def private_folder(path: Path) -> Path:
    """The folder and those missing above it, mode 0700; raises UsageError when it is somebody else's or a link."""
    try:
        for folder in reversed([each for each in (path, *path.parents) if not each.exists()]):
            folder.mkdir(exist_ok=True, mode=0o700)  # `parents=True` would leave the mode of those to the umask
        info = path.lstat()
        if info.st_uid != os.getuid() or not stat.S_ISDIR(info.st_mode):
            raise UsageError(f"{path} is not a folder of yours; remove it or set another place with XDG variables")
        if info.st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        raise UsageError(f"cannot use the folder {path}: {error.strerror or error}") from error
    return path


@dataclass(frozen=True)
class Settings:
    """What a person can set; the same names in `settings.toml`, as OHW_NAME in the environment and as flags."""

    model: str | None = None
    """The name of a profile, the model's name as litellm writes it (`anthropic/claude-sonnet-4-5`), or `scripted/…`."""
    api_base: str | None = None
    """The address of the provider, for local and compatible servers."""
    api_key: str | None = field(default=None, repr=False)
    """The key itself; better `api_key_env`."""
    api_key_env: str | None = None
    """The environment variable that holds the key."""
    calls: str = "auto"
    """How tools are called: native, text (for models without tool calling), or auto."""
    mode: str = "medium"
    """When to ask: medium, ask, high, never, plan."""
    confirm_unknown: bool = True
    """Whether the modes that ask by risk ask about what nobody can rate."""
    theme: str = "ohw-dark"
    """The name of a theme."""
    max_steps: int = 100
    """Model calls in one run before it pauses."""
    token_limit: int = 0
    """Tokens of one run, in and out, before it pauses; 0 for no limit."""
    max_cost: float = 0.0
    """US dollars of one run before it pauses; 0 for no limit."""
    max_observe: int = 30_000
    """Characters of a tool's result that reach the model; the middle of a longer one is left out."""
    tool_choice: str = "auto"
    """Whether the model may call tools: none, auto, or required (each answer should)."""
    stop_loops: bool = True
    """Pause a run that goes in circles."""
    condense_percent: int = 80
    """Condense the history when it fills more of the model's window; 0 for never."""
    condense_events: int = 500
    """Condense the history when it is sent as more messages; 0 for never."""
    context_window: int = 0
    """Tokens of the model's window; 0 for what is known of the model."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Binding id -> keys, comma separated."""
    tools: Mapping[str, Any] = field(default_factory=dict)
    """`set` = "code" or "plan"; a tool's name = true, false or a table of its parameters (which switches it on)."""
    models: Mapping[str, Any] = field(default_factory=dict)
    """Profiles: the tables `[models.NAME]` as they are written; `profile` reads one."""
    terminal: Mapping[str, Any] = field(default_factory=dict)
    """The table `[terminal]`: title, bell, notices, mouse, clipboard, vim keys; read by `workbench.config.terminal`."""
    mcpServers: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """MCP servers: the tables `[mcpServers.NAME]` as they are written; `workbench.mcp.servers` reads them."""
    pass_env: tuple[str, ...] = ()
    """Variables that child processes get though their names say that they hold secrets."""
    trusted: tuple[str, ...] = ()
    """Folders whose own tools (`.ohw/tools/*.py`) are loaded."""
    given: tuple[str, ...] = field(default=(), metadata={"internal": True})
    """Which of these came from the command line: only they change a session that is opened again."""
    takes_foreign: bool = field(default=False, metadata={"internal": True})
    """The user agreed to open a session file that may be somebody else's: nothing it is set to counts."""
    problems: tuple[str, ...] = field(default=(), metadata={"internal": True})
    """What is wrong in the file, a line each, where that holds nothing up."""
    rules: tuple[str, ...] = field(default=(), metadata={"internal": True})
    """Rules that a new session begins with, a line each: the demo's own, or those of a sub-agent's parent."""

    def profile(self, name: str) -> Profile:
        """The profile of that name, or what is set for a model named as PROVIDER/NAME."""
        usual = {"calls": self.calls} | ({"context_window": self.context_window} if self.context_window else {})
        if name in self.models:
            profile = read_profile(name, {**usual, **self.models[name]})
            is_meant = name == self.model and "api_base" in self.given
            return replace(profile, api_base=self.api_base) if is_meant else profile
        return Profile(name, name, self.api_base, calls=self.calls, context_window=self.context_window or None)


def load_settings(
    locations: Locations, env: Mapping[str, str] = os.environ, *, lenient: bool = False, **flags: Any
) -> Settings:
    """Settings file, then environment, then flags (a flag of None counts as not given); raises UsageError.

    A `lenient` reader finds what is wrong in the file in `problems`, and the usual values in its place.
    """
    values, wrong = written_settings(locations)
    if wrong and not lenient:
        raise UsageError(" · ".join(wrong))
    given = {name: value for name, value in flags.items() if value is not None}
    return _checked(
        replace(Settings(), **{**values, **_from_environment(env), **given}, given=tuple(given), problems=tuple(wrong))
    )


def written_settings(locations: Locations) -> tuple[dict[str, Any], list[str]]:
    """What the person's file sets, and a line on each entry of it that does not count."""
    return read_settings(locations.settings_file, _names(), check_setting)


def _names() -> list[str]:
    return [entry.name for entry in fields(Settings) if not entry.metadata.get("internal")]


def check_setting(name: str, value: Any) -> None:
    """One entry of the file; raises UsageError."""
    check_tables({name: value})
    _checked(replace(Settings(), **{name: value}))


def _from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    names = [name for name in _names() if name not in ONLY_IN_FILE]
    return {name: env[f"OHW_{name.upper()}"] for name in names if env.get(f"OHW_{name.upper()}")}


def _checked(settings: Settings) -> Settings:
    return replace(settings, **checked_values({name: getattr(settings, name) for name in _names()}))
