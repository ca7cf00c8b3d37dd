"""Changes of another session are rated like the edits of the agent, and recorded as the user's with their source."""

from pathlib import Path

import pytest

from tests.session.fake_agent import says
from tests.session.test_revert import files
from workbench.session.actions.decide import CommandError
from workbench.session.workspace.revert import RevertError

OTHER = "20260101-other"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("mine\n")
    return path


def test_applied_change_is_the_users_and_names_the_other_session(harness, written):
    one = harness()
    change = files((written, "mine\n", "theirs\n"))
    one.session.changes.apply(change, OTHER, one.session.changes.rating(change).risk)
    assert written.read_text() == "theirs\n"
    (event,) = (event for event in one.log() if event.kind == "files_changed")
    assert (event.by, event.session, event.files) == ("person", OTHER, change)


def test_applied_change_is_reverted_like_any_other(harness, written):
    one = harness()
    one.session.changes.apply(files((written, "mine\n", "theirs\n")), OTHER, "MEDIUM")
    one.session.files.revert(files((written, "theirs\n", "mine\n")))
    assert written.read_text() == "mine\n"


def test_agent_is_told_where_the_change_comes_from(harness, written):
    one = harness(says("I see"))
    one.session.changes.apply(files((written, "mine\n", "theirs\n")), OTHER, "MEDIUM")
    one.session.send("go")
    one.run()
    note = f"[The user applied changes from another session to {written}. View a file before you edit it.]"
    assert note in [message["content"] for message in one.agent.requests[-1]]


def test_rating_is_that_of_an_edit_of_the_agent(harness, written):
    rating = harness().session.changes.rating
    assert rating(files((written, "mine\n", "theirs\n"))).risk == "MEDIUM"
    hook = written.parent / ".git/hooks/pre-commit"
    rated = rating(files((written, "mine\n", "theirs\n"), (hook, None, "#!/bin/sh\n")))
    assert rated.risk == "HIGH"
    assert rated.reasons


def test_change_that_is_riskier_than_accepted_is_not_written(harness, written):
    one = harness()
    hook = written.parent / ".git/hooks/pre-commit"
    with pytest.raises(CommandError, match="riskier than when you looked"):
        one.session.changes.apply(files((hook, None, "#!/bin/sh\n")), OTHER, "MEDIUM")
    assert not hook.exists()


def test_rule_that_denies_an_edit_denies_the_change_too(harness, written):
    one = harness()
    one.session.set(rule="deny in a.txt")
    with pytest.raises(CommandError, match=r"a\.txt was not written: .* denies it"):
        one.session.changes.apply(files((written, "mine\n", "theirs\n")), OTHER, "HIGH")
    assert written.read_text() == "mine\n"


def test_file_outside_the_workspace_is_never_written(harness, written, tmp_path_factory):
    one, elsewhere = harness(), tmp_path_factory.mktemp("elsewhere")
    (written.parent / "link").symlink_to(elsewhere)
    for path in (elsewhere / "new.txt", written.parent / "../new.txt", written.parent / "link/new.txt"):
        with pytest.raises(CommandError, match="is not in the workspace; nothing was written"):
            one.session.changes.apply(files((path, None, "theirs\n")), OTHER, "HIGH")
    assert list(elsewhere.iterdir()) == []


def test_file_that_has_changed_since_is_left_alone(harness, written):
    one = harness()
    with pytest.raises(RevertError, match="has changed since it was shown"):
        one.session.changes.apply(files((written, "older\n", "theirs\n")), OTHER, "HIGH")
    assert written.read_text() == "mine\n"
