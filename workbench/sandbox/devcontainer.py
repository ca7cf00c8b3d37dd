"""What a project's `devcontainer.json` says about the container: what is used, and what is ignored.

The properties are described at https://containers.dev/implementors/json_reference. The file is the project's, so
nothing in it is used before the user has agreed to its bytes, and nothing in it makes the container less confined: its
commands are not run, and it cannot mount keys, sockets or parts of the workspace.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from workbench.config.container_settings import ContainerSettings, read_container, split_mount
from workbench.config.devcontainer import content_of, devcontainer_in, dockerfile_of, parsed
from workbench.errors import UsageError
from workbench.lazy_pattern import lazy_pattern
from workbench.risk.paths import PathContext, within
from workbench.sandbox.container_mounts import reach_outside
from workbench.sandbox.container_runtime import ImageBuild
from workbench.sandbox.granted_directories import refusal
from workbench.sandbox.sandbox import Boundary
from workbench.text import visible, visible_path

MayUse: TypeAlias = Callable[[Mapping[Path, bytes]], bool]
"""Returns whether the user agreed to make a container from files with this content."""
_COMMANDS: Final = (
    *("initializeCommand", "onCreateCommand", "updateContentCommand"),
    *("postCreateCommand", "postStartCommand", "postAttachCommand"),
)
_USED: Final = frozenset(("image", "build", "containerEnv", "containerUser", "remoteUser", "mounts", "workspaceFolder"))
_OF_EDITORS: Final = frozenset(
    (
        *("$schema", "name", "customizations", "settings", "extensions", "portsAttributes", "otherPortsAttributes"),
        *("shutdownAction", "overrideCommand", "updateRemoteUserUID", "userEnvProbe", "waitFor", "hostRequirements"),
        "secrets",
    )
)
"""Properties that have no effect on commands in a container."""
_OF_BUILD: Final = frozenset(("dockerfile", "context", "args", "target"))
_VARIABLE: Final = lazy_pattern(r"\$\{([^}$]*)\}")
_IMAGE: Final = lazy_pattern(r"[A-Za-z0-9][\w.:/@-]*")
_USER: Final = lazy_pattern(r"[A-Za-z0-9_][\w.:-]*")
_OF_KERNEL: Final = ("/dev", "/proc", "/run", "/sys")
"""Directories that are never mounted: they contain no data of the user, but ways into this machine."""
_SAME_PATH: Final = "workspaceFolder is not used: the workspace has the same path inside as outside"


@dataclass(frozen=True)
class DevContainer:
    """What is used from a `devcontainer.json`."""

    settings: ContainerSettings
    """The user's own settings, extended by the file."""
    build: ImageBuild | None
    """What the image is built from; None if the file names an image."""
    notices: tuple[str, ...]
    """For the user: what in the file is not used."""


def read_devcontainer(own: ContainerSettings, boundary: Boundary, may_use: MayUse) -> DevContainer | None:
    """Return what the project's file says; None if the user's `own` settings do not use such a file.

    Raises OSError if the user has not agreed to the file, or UsageError with the reason if it cannot be used.
    """
    file = devcontainer_in(own, boundary.workspace)
    if file is None:
        return None
    content = content_of(file)
    try:
        reader = _Reader(file, content, own, boundary)
        build_file = reader.dockerfile
        more = {build_file: content_of(build_file)} if build_file is not None else {}
        check_trust({file: content, **more}, may_use)
        return reader.result()
    except UsageError as error:
        raise UsageError(f"{visible_path(str(file))} is not used: {error}") from error


def check_trust(files: Mapping[Path, bytes], may_use: MayUse) -> None:
    """Raise OSError with the reason unless the user agreed to these files."""
    if not may_use(files):
        names = " and ".join(visible_path(str(file)) for file in files)
        now = "it is now" if len(files) == 1 else "they are now"
        raise OSError(0, f"nothing is built from {names} as {now} without your trust: `ohw` in the directory asks")


class _Reader:
    """Interprets one file, and collects notices about what is not used."""

    def __init__(self, file: Path, content: bytes, own: ContainerSettings, boundary: Boundary) -> None:
        self._file, self._content, self._own = file, content, own
        self._boundary = boundary
        self._workspace, self._home = boundary.workspace.resolve(), boundary.home
        self._data = parsed(content)
        self.dockerfile = dockerfile_of(self._data, file, self._workspace)
        self._notices: list[str] = []

    def result(self) -> DevContainer:
        """Return what is used from the file. Raises UsageError."""
        if self._data.get("dockerComposeFile"):
            raise UsageError("it names services of Docker Compose (dockerComposeFile), which are not started")
        build = self._build()
        image = "" if build is not None else self._checked("image", _IMAGE)
        if build is None and not image:
            raise UsageError("it names neither an `image` nor a `build.dockerfile`")
        env = {**self._strings(self._data.get("containerEnv"), "containerEnv"), **self._own.env}
        read_container({"env": env})
        settings = replace(
            self._own,
            image=image,
            dockerfile=os.path.relpath(build.file, self._workspace) if build is not None else "",
            env=env,
            user=self._own.user or self._checked("remoteUser", _USER) or self._checked("containerUser", _USER),
            mounts=(*self._mounts(), *self._own.mounts),
        )
        self._note_rest()
        name = visible(os.path.relpath(self._file, self._workspace), lines=False)
        return DevContainer(settings, build, tuple(f"{name}: {visible(each, lines=False)}" for each in self._notices))

    def _checked(self, name: str, pattern: Any) -> str:
        """Return a property that becomes a word of a command line. Raises UsageError if it does not match `pattern`."""
        value = self._data.get(name) or ""
        text = self._substituted(value) if isinstance(value, str) else None
        if text is None or (text and not pattern.fullmatch(text)):
            raise UsageError(f"`{name}` is {visible(repr(value), lines=False)}, which is not accepted")
        return text

    def _build(self) -> ImageBuild | None:
        if self.dockerfile is None:
            return None
        build = self._data["build"]
        name = str(build.get("context") or ".")
        if not name.isprintable():
            raise UsageError("`build.context` is no name of a directory")
        context = Path(os.path.normpath(self._file.parent / name))
        if not within(os.path.realpath(context), str(self._workspace)):
            raise UsageError(f"{visible_path(str(context))} is outside the workspace")
        target = build.get("target") or ""
        if not isinstance(target, str) or not target.isprintable():
            raise UsageError("`build.target` is no name of a stage")
        rest = sorted(f"build.{name}" for name in build if name not in _OF_BUILD)
        self._notices += [f"not used: {', '.join(rest)}"] if rest else []
        args = self._strings(build.get("args"), "build.args")
        return ImageBuild(self.dockerfile, context, args, target, {self._file: self._content})

    def _strings(self, table: object, name: str) -> dict[str, str]:
        """Return a table of strings with their `${…}` replaced. Raises UsageError if it is not a table of strings."""
        if table is None:
            return {}
        if not isinstance(table, Mapping) or not all(isinstance(each, str) for each in table.values()):
            raise UsageError(f"`{name}` must have strings as its values")
        if any("\0" in text for text in (*table, *table.values())):
            raise UsageError(f"`{name}` has a null byte")
        strings = {key: self._substituted(value) for key, value in table.items()}
        unknown = sorted(key for key, text in strings.items() if text is None)
        if unknown:
            self._notices.append(f"{name} without {', '.join(unknown)}, which has variables that are not passed on")
        return {key: text for key, text in strings.items() if text is not None}

    def _substituted(self, text: str) -> str | None:
        """Return a text with its `${…}` replaced; None if it contains one that does not stand for a directory.

        Variables of the user's shell are not passed on, because they may be keys.
        """
        path, name = str(self._workspace), self._workspace.name
        values = {f"{side}WorkspaceFolder": path for side in ("local", "container")}
        values |= {f"{side}WorkspaceFolderBasename": name for side in ("local", "container")}
        values |= {"localEnv:HOME": str(self._home)}
        if any(each not in values for each in _VARIABLE.findall(text)):
            return None
        return _VARIABLE.sub(lambda match: values[match[1]], text)

    def _mounts(self) -> list[str]:
        """Return the accepted mounts with the real paths of their sources, so that what was checked is what is
        mounted.
        """
        mounts: list[str] = []
        listed = self._data.get("mounts") or []
        for entry in listed if isinstance(listed, list) else (listed,):
            fields = _fields(entry)
            source, target = (self._substituted(fields.get(name, "")) or "" for name in ("source", "target"))
            real, is_writable = os.path.realpath(source) if source.isprintable() else "", "readonly" not in fields
            obstacle = "" if fields.get("type") == "bind" else "only directories and files are mounted (type=bind)"
            obstacle = obstacle or _obstacle_of_paths(source, real, target) or self._obstacle(real, target)
            obstacle = obstacle or (self._obstacle_to_writing(real) if is_writable else "")
            if obstacle:
                self._notices.append(f"not mounted: {target or entry}: {obstacle}")
            else:
                mounts.append(f"{real}:{target}{'' if is_writable else ':ro'}")
        return self._without_inner(mounts)

    def _without_inner(self, mounts: Iterable[str]) -> list[str]:
        """Return the mounts whose source is not inside a directory that commands can write.

        Commands could replace such a source with a link, which a container that is started again would follow.
        """
        entries = [(each, *split_mount(each)) for each in (*mounts, *self._own.mounts)]
        writable = [os.path.realpath(Path(each[1]).expanduser()) for each in entries if each[3]]
        result = []
        for mount, source, target, _ in entries[: len(entries) - len(self._own.mounts)]:
            outer = next((each for each in writable if source != each and within(source, each)), "")
            if outer:
                self._notices.append(f"not mounted: {target}: {source} is in {outer}, which commands write")
            else:
                result.append(mount)
        return result

    def _obstacle_to_writing(self, real: str) -> str:
        """Return why something cannot be mounted writable; empty if it can."""
        if not Path(real).is_dir():
            return "a file is mounted only read-only (readonly)"
        why = refusal(real, self._boundary)
        return f"commands may not write {real}: {why}" if why else ""

    def _obstacle(self, real: str, target: str) -> str:
        """Return why something cannot be mounted even read-only; empty if it can."""
        workspace = str(self._workspace)
        obstacle = ""
        if any(within(one, workspace) or within(workspace, one) for one in (real, os.path.normpath(target))):
            obstacle = "it has the workspace or is in it, which is mounted already"
        elif system := next((each for each in _OF_KERNEL if within(real, each)), ""):
            obstacle = f"{system} has devices, processes or sockets of this machine"
        elif PathContext(workspace, os.path.realpath(self._home)).reading(real, deep=True)[0] == "HIGH":
            obstacle = "it may contain keys or passwords"
        elif reach_outside((f"{real}:{target}:ro",), self._home):
            obstacle = "it has or may have sockets, such as that of docker"
        return obstacle

    def _note_rest(self) -> None:
        """Add notices about the properties that are not used."""
        set_ = [name for name, value in self._data.items() if value not in (False, None, "", [], {})]
        commands = [name for name in _COMMANDS if name in set_]
        rest = sorted(set(set_) - _USED - _OF_EDITORS - set(commands))
        self._notices += [f"not run: {', '.join(commands)}"] if commands else []
        self._notices += [f"not used: {', '.join(rest)}"] if rest else []
        directory = self._data.get("workspaceFolder")
        if directory and not (isinstance(directory, str) and self._substituted(directory) == str(self._workspace)):
            self._notices.append(_SAME_PATH)


def _obstacle_of_paths(source: str, real: str, target: str) -> str:
    together = source + real + target
    if not source.startswith("/") or not target.startswith("/") or ":" in together or not together.isprintable():
        return "source and target must be absolute paths"
    return "" if os.path.exists(real) else f"there is no {source}"  # noqa: PTH110 - a string comes in


_ALIASES: Final = {"src": "source", "dst": "target", "destination": "target", "ro": "readonly"}


def _fields(entry: object) -> dict[str, str]:
    """Return the fields of a mount, which is a table or, as for `docker run --mount`, a line of CSV."""
    if isinstance(entry, Mapping):
        pairs: Iterable[tuple[str, str]] = ((name, str(value)) for name, value in entry.items())
    else:
        words = _words(" ".join(str(entry).split()))
        pairs = ((name, value) for name, _, value in (word.partition("=") for word in words))
    fields = {_ALIASES.get(name.strip().lower(), name.strip().lower()): value.strip() for name, value in pairs}
    if fields.get("readonly", "").lower() in ("false", "0"):
        del fields["readonly"]
    return fields


def _words(line: str) -> list[str]:
    """Return the fields of a line of CSV; an empty list if one is too long for Python's CSV reader."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []
