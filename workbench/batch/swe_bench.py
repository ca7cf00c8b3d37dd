"""Reads the rows of SWE-bench, and of benchmarks in its format, as tasks.

What a row has besides the issue and where its code is (the solution `patch`, `test_patch`, `FAIL_TO_PASS`, hints) is
for the evaluation, which is SWE-bench's own; none of it becomes part of a task.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from workbench.batch.task import InvalidTask
from workbench.lazy_pattern import lazy_pattern

_REQUIRED: Final = ("instance_id", "repo", "base_commit", "problem_statement")
_IMAGES: Final = ("image", "image_name", "docker_image")
"""The columns with the image: of SWE-bench since version 5, and of other benchmarks in its format."""
_IMAGE_PATH: Final = "/testbed"
"""Where those images have the code."""
_ON_GITHUB: Final = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")
_PROMPT: Final = """\
Resolve the issue below in the code of this directory. Change the code itself: tests for the issue exist elsewhere, and
will be run on your result. Reproduce the issue if you can, and run the project's existing tests before you finish.
No questions will be answered meanwhile.

<issue>
{problem_statement}
</issue>
"""


def is_swe_bench(row: Any) -> bool:
    """Return whether a row of a task file is one of SWE-bench: it has an `instance_id` and a `base_commit`."""
    return isinstance(row, dict) and "instance_id" in row and "base_commit" in row


def swe_bench_row(row: Mapping[str, Any], template: str = "") -> dict[str, Any]:
    """Return a row of SWE-bench as a row of our own, with only what the agent may know.

    `template` is the prompt, with `{problem_statement}` and, if wanted, `{repo}`; if it is empty, a short one of ours.
    Raises InvalidTask.
    """
    for name in _REQUIRED:
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise InvalidTask(name, "there is none, or it is not text")
    prompt = template or _PROMPT
    fields = {"problem_statement": row["problem_statement"]}
    if "{repo}" in prompt:
        fields["repo"] = row["repo"]
    return {"id": row["instance_id"], "prompt": prompt, "fields": fields, **_workspace(row)}


def _workspace(row: Mapping[str, Any]) -> dict[str, Any]:
    for name in _IMAGES:
        if row.get(name):
            return {"image": row[name], "image_path": _IMAGE_PATH}
    repository = row["repo"]
    url = f"https://github.com/{repository}" if _ON_GITHUB.fullmatch(repository) else repository
    return {"workspace": url, "revision": row["base_commit"]}
