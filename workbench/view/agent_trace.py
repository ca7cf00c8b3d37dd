"""The blame of a file as an Agent Trace record, version 0.1.0 (https://agent-trace.dev), for `ohw blame`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from msgspec import Struct

from workbench import __version__
from workbench.files.git import run_git
from workbench.text import well_formed
from workbench.view.blame import BlameRow, BlameView, LineSource

_VERSION: Final = "0.1.0"
_LONGEST_MODEL: Final = 250


class Revision(Struct, frozen=True):
    """The commit that is checked out, the root of its repository, and whether the file differs from the commit."""

    commit: str
    root: str
    is_changed: bool


def revision_of(workspace: Path, path: str) -> Revision | None:
    """Return the commit checked out in the workspace, and whether the file `path` in the workspace differs from it.

    Returns None if the workspace is in no git repository or the repository has no commit yet.
    """
    answer = run_git(["rev-parse", "--show-toplevel", "--verify", "HEAD"], cwd=workspace)
    root, _, commit = os.fsdecode(answer.output).strip().rpartition("\n")
    if not answer.ok or not root:
        return None
    in_commit = run_git(["cat-file", "-e", f"HEAD:./{path}"], cwd=workspace)
    unchanged = run_git(["diff", "--quiet", "HEAD", "--", path], cwd=workspace)
    return Revision(commit, root, not (in_commit.ok and unchanged.ok))


def trace_record(view: BlameView, revision: Revision | None, now: datetime) -> dict[str, Any]:
    """Return the record: a conversation for each session and contributor, with the ranges of its lines."""
    record: dict[str, Any] = {
        "version": _VERSION,
        "id": str(uuid4()),
        "timestamp": f"{now:%Y-%m-%dT%H:%M:%S}Z",
        "tool": {"name": "ohw", "version": __version__},
        "files": [{"path": _path(view, revision), "conversations": _conversations(view.rows)}],
    }
    if revision is not None:
        record["vcs"] = {"type": "git", "revision": revision.commit}
        if revision.is_changed:
            record["metadata"] = {"ohw": {"uncommitted": True}}
    return record


def _path(view: BlameView, revision: Revision | None) -> str:
    path = Path(view.workspace) / view.path
    return well_formed(os.path.relpath(path, revision.root if revision else view.workspace))


def _conversations(rows: Sequence[BlameRow]) -> list[dict[str, Any]]:
    conversations: dict[tuple[str, str, str], dict[str, Any]] = {}
    for source, group in groupby(rows, lambda row: row.source):
        lines = list(group)
        contributor = _contributor(source)
        session = source.writer.session if source.writer.kind == "agent" else ""
        conversation = conversations.setdefault(
            (session, contributor["type"], contributor.get("model_id", "")),
            {**({"url": f"ohw://session/{session}"} if session else {}), "contributor": contributor, "ranges": []},
        )
        conversation["ranges"].append(_range(lines))
        if session:
            action = {"type": "action", "url": f"ohw://session/{session}/event/{source.writer.seq}"}
            related = conversation.setdefault("related", [])
            related += [action] if action not in related else []
    return list(conversations.values())


def _contributor(source: LineSource) -> dict[str, str]:
    if source.writer.kind == "agent":
        model = {"model_id": source.model[:_LONGEST_MODEL]} if source.model else {}
        return {"type": "mixed" if source.is_edited else "ai", **model}
    return {"type": "human" if source.who == "you" else "unknown"}


def _range(rows: Sequence[BlameRow]) -> dict[str, Any]:
    text = "".join(f"{row.content}\n" for row in rows)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {"start_line": rows[0].number, "end_line": rows[-1].number, "content_hash": f"sha256:{digest}"}
