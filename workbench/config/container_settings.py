"""The settings of the container in which commands run: the table `[container]`."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.config.setting_kinds import MemorySize, OneOf, Strings, Table, Text, VariableName, checked_table, setting
from workbench.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
    from pathlib import Path
    from typing import Any
else:

    def dataclass(**_: object) -> object:
        """Return a decorator that changes nothing: the module `settings` makes the class a dataclass."""
        return lambda table: table


RUNTIMES = ("podman", "docker")
"""The programs that run containers, the preferred one first."""
ASK = "ask"
DEVCONTAINER = "devcontainer"
"""The value of `--container` or `container.devcontainer` that selects the project's own devcontainer.json."""
NETWORKS = {
    ASK: "only hosts that you allow, each asked about at its first use",
    "none": "none",
    "open": "the runtime's own: commands reach every host unasked",
}
"""The values of `container.network`, each with what commands can reach."""


def _check_variables(name: str, value: Any) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value.values()):
        raise UsageError(f"{name} must be a table of variables and their values as text")
    for variable in value:
        VariableName(required=True).parse(name, variable)


@dataclass(frozen=True)
class ContainerSettings:
    """The table `[container]`: the container that commands run in."""

    image: str = setting("", Text(), "Image", "The image; commands run in a container of it.")
    dockerfile: str = setting(
        "", Text(), "Dockerfile", "Without an image: a file, seen from the workspace, from which it is built."
    )
    devcontainer: str = setting(
        "",
        Text(),
        "devcontainer.json",
        'Without both: a devcontainer.json, seen from the workspace; "devcontainer" for the one that the project has.',
    )
    network: str = setting("ask", OneOf(words=NETWORKS), "Network", "What commands in the container reach.")
    mounts: tuple[str, ...] = setting(
        (),
        Strings('directories, such as ["/data:/data:ro"]', of=Text(required=True)),
        "Mounts",
        "Further directories in the container, each as SOURCE:TARGET or SOURCE:TARGET:ro.",
    )
    env: Mapping[str, str] = setting({}, Table(_check_variables), "Variables", "Variables in the container.")
    memory: str = setting("", MemorySize(), "Memory", "What the container may use, such as 4g; no limit if empty.")
    user: str = setting("", Text(), "User", "The user in the container, if not yours, whom its files then belong to.")
    runtime: str = setting("", OneOf("", *RUNTIMES), "Runtime", "podman or docker; without it, the first found.")

    @property
    def is_used(self) -> bool:
        """Whether commands run in a container."""
        return bool(self.image or self.dockerfile or self.devcontainer)

    @property
    def origin(self) -> str:
        """The image's name, or else the Dockerfile or devcontainer.json that defines it; empty if none is set."""
        own = "devcontainer.json" if self.devcontainer == DEVCONTAINER else self.devcontainer
        return self.image or self.dockerfile or own

    def file_in(self, workspace: Path) -> Path | None:
        """Return the path of the Dockerfile; None if the settings name an image, or no Dockerfile."""
        return workspace.resolve() / self.dockerfile if self.dockerfile and not self.image else None


class ContainerTable(Table):
    """The table `[container]`; a flag replaces what the container is made from, and leaves the other entries."""

    def __init__(self) -> None:
        super().__init__(lambda _, value: read_container(value))

    def merge(self, value: Any, written: Any) -> Any:
        """Return the file's table with the flag's image, or with the devcontainer.json that the flag asks for."""
        if not isinstance(value, str):
            return value
        table = {"devcontainer": "", **(written or {}), "image": value, "dockerfile": ""}
        if value == DEVCONTAINER:
            return {**table, "image": "", "devcontainer": table["devcontainer"] or DEVCONTAINER}
        return {**table, "devcontainer": ""}

    def flag_text(self, value: Any) -> str:
        """Return the image, or the word for the devcontainer.json; only the flag's part of the table."""
        return value.get("image", "") or (DEVCONTAINER if value.get("devcontainer") else "")


def read_container(values: object) -> ContainerSettings:
    """Return the settings in the table `[container]`. Raises a UsageError that names an invalid key or value."""
    if not isinstance(values, Mapping):
        raise UsageError("container must be a table: [container]")
    read = ContainerSettings(**checked_table(ContainerSettings, "container", values))
    for each in read.mounts:
        split_mount(each)
    return read


def split_mount(text: str) -> tuple[str, str, bool]:
    """Return the source, the target and whether commands may write there. Raises UsageError for an invalid entry."""
    source, _, rest = text.partition(":")
    target, _, option = rest.partition(":")
    if not source.startswith(("/", "~/")) or not target.startswith("/") or option not in ("", "ro", "rw"):
        raise UsageError(f"container.mounts: {text!r} is not SOURCE:TARGET or SOURCE:TARGET:ro, with absolute paths")
    return source, target, option != "ro"
