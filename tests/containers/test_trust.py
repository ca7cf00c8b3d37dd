"""Trust in the file from which an image is built: it is asked about, and again when the file has changed."""

from __future__ import annotations

import json

from tests.containers.images import WITH_BASH
from tests.sandbox import Sandbox as User
from tests.sandbox import bash, finish
from workbench.tools.trust import NOTHING, agree
from workbench.view.approval.trust import brings, trust_question


def trust(user: User) -> list[str]:
    """Say yes to the question about the project; return what it says of its files."""
    question = trust_question(user.locations, user.project, (), set(), (user.project / "Dockerfile",))
    assert question is not None
    question.answer(True)
    return [f"{name}: {question.kind_of(name)}" for name in question.names]


def test_a_changed_file_is_built_only_after_trust_in_it_is_given_again(user: User):
    file, settings = user.project / "Dockerfile", user.locations.settings_file
    file.write_text(f"FROM {WITH_BASH}\nRUN echo first > /built\n")
    settings.parent.mkdir(parents=True)
    settings.write_text('[container]\ndockerfile = "Dockerfile"\n')
    args = ("--json", "--model", user.script(bash("cat /built"), finish()), "--mode", "high", "go")
    assert trust(user) == ["Dockerfile: what the image of the container is built from"]
    assert trust_question(user.locations, user.project, (), set(), (file,)) is None
    assert "first" in user.ohw("run", *args).stdout
    file.write_text(f"FROM {WITH_BASH}\nRUN echo second > /built\n")
    changed = user.ohw("run", *args)
    assert (changed.returncode, "nothing is built from" in changed.stdout + changed.stderr) == (1, True)
    trust(user)
    assert "second" in user.ohw("run", *args).stdout


def test_trust_in_the_directory_alone_is_none_in_the_file(local_sandbox: User):
    file = local_sandbox.project / "Dockerfile"
    file.write_text("FROM scratch\n")
    (local_sandbox.project / ".mcp.json").write_text(json.dumps({"mcpServers": {}}))
    both = trust_question(local_sandbox.locations, local_sandbox.project, (), set(), (file,))
    assert both is not None
    assert both.names == [".mcp.json", "Dockerfile"]
    assert brings(both) == "its own tools, rules and Dockerfile"
    agree(local_sandbox.locations, local_sandbox.project, both.content)
    alone = trust_question(local_sandbox.locations, local_sandbox.project, (both.content,), set(), (file,))
    assert alone is not None
    assert alone.names == ["Dockerfile"]


def test_a_directory_that_the_settings_name_is_trusted_with_its_first_file(local_sandbox: User):
    file = local_sandbox.project / "Dockerfile"
    file.write_text("FROM scratch\n")
    where, project, named = local_sandbox.locations, local_sandbox.project, (str(local_sandbox.project),)
    agree(where, project, NOTHING, named)
    assert trust_question(where, project, named, set(), (file,)) is None
    file.write_text("FROM elsewhere\n")
    assert trust_question(where, project, named, set(), (file,)) is not None
