"""Skills: directories with a SKILL.md that describes a kind of task.

The system prompt lists the skills; the model reads a skill's file when it needs it.

The format is defined by agentskills.io: YAML between two lines `---` with `name` and `description`, then Markdown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from workbench.agent.front_matter import read_inside, split_front_matter
from workbench.text import first_line, well_formed

DIRECTORIES: Final = (".agents/skills", ".ohw/skills")
"""A project's skill directories."""
_MOST, _HEAD_BYTES, _LONGEST = 60, 16_000, 500


class Skill(msgspec.Struct, frozen=True):
    """One skill; `path` is the path of its SKILL.md."""

    name: str
    description: str
    path: Path


def skills_of(workspace: Path, personal: Sequence[Path] = ()) -> list[Skill]:
    """Return the project's skills, then those in the directories `personal`, up to 60.

    If two skills have the same name, the first is used.
    """
    skills: dict[str, Skill] = {}
    for directory in (*(workspace / name for name in DIRECTORIES), *personal):
        for path in _files(directory):
            skill = _read(path, directory)
            if skill is not None:
                skills.setdefault(skill.name, skill)
    return list(skills.values())[:_MOST]


def skills_prompt(skills: Iterable[Skill]) -> str:
    """Return the section of the system prompt about skills; empty if there are none."""
    lines = [f"- {skill.name}: {skill.description} ({well_formed(str(skill.path))})" for skill in skills]
    if not lines:
        return ""
    return (
        "# Skills\nInstructions for kinds of tasks. When one fits what you are asked, read its file first and follow "
        "it; other files that it names are beside it.\n" + "\n".join(lines)
    )


def _files(directory: Path) -> list[Path]:
    try:
        return sorted(directory.glob("*/SKILL.md"))
    except OSError:
        return []


def _read(path: Path, directory: Path) -> Skill | None:
    head = read_inside(path, directory, _HEAD_BYTES)
    split = split_front_matter(head.decode("utf-8", "replace")) if head is not None else None
    if split is None:
        return None
    name, description = split[0].get("name"), split[0].get("description")
    if not isinstance(name, str) or not isinstance(description, str) or not name.strip():
        return None
    one_line = " ".join(well_formed(description).split())
    return Skill(first_line(well_formed(name), 64), first_line(one_line, _LONGEST), path)
