"""A tool that creates, writes and deletes several files at once, byte for byte; and a session that proposes a call."""

import json
from collections.abc import Sequence
from pathlib import Path

from tests.session.fake_agent import Harness, calls, says
from workbench.tools.executor import FileChange, ToolExecutor
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import ToolDefinition


class RewriteAction(Action):
    files: dict[str, str | None]


class Rewrite(ToolExecutor[RewriteAction, Observation]):
    def __init__(self) -> None:
        self.ran = 0

    def __call__(self, action: RewriteAction) -> Observation:
        self.ran += 1
        for path, text in action.files.items():
            if text is None:
                Path(path).unlink(missing_ok=True)
            else:
                Path(path).write_bytes(text.encode())
        return Observation.from_text("rewritten")

    def preview(self, action: RewriteAction) -> Sequence[FileChange]:
        return [FileChange(path, held(Path(path)), text) for path, text in action.files.items()]


def held(path: Path) -> str | None:
    return path.read_bytes().decode() if path.exists() else None


class Rewriting:
    """One proposal of several files, waiting for the user."""

    def __init__(self, directory: Path, *pairs: tuple[str | None, str | None], **more) -> None:
        self.paths = [directory / f"{number}.txt" for number in range(len(pairs))]
        for path, (before, _) in zip(self.paths, pairs, strict=True):
            if before is not None:
                path.write_bytes(before.encode())
        self.tool = Rewrite()
        texts = {str(path): after for path, (_, after) in zip(self.paths, pairs, strict=True)}
        self.harness = Harness(directory, calls(("rewrite", {"files": texts}, "HIGH")), says("ok"), **more)
        self.harness.tools["rewrite"] = ToolDefinition(
            name="rewrite", description="r", action_type=RewriteAction, executor=self.tool
        )
        self.harness.session.send("go")
        self.harness.run()

    def held(self) -> list[str | None]:
        return [held(path) for path in self.paths]

    @property
    def observed(self):
        return next(event for event in self.harness.log() if event.kind == "action_observed")

    @property
    def decided(self):
        return next(event for event in self.harness.log() if event.kind == "action_decided")

    @property
    def result(self) -> str:
        """Return the result that the model received for its call."""
        content = self.harness.agent.requests[-1][-1]["content"]
        assert content.startswith(json.loads(json.dumps(self.observed.observation["content"][0]["text"]))[:40])
        return content
