"""A command that the user edited is rated like any other: if it is riskier than the one shown, it is shown first."""

import pytest

from tests.session.fake_agent import calls, says
from workbench.tools import BashTool


@pytest.fixture
def asked(harness, tmp_path):
    """A session that asks about `touch made`, with a real shell."""
    shell = BashTool(working_dir=str(tmp_path))
    d = harness(calls((shell.name, {"command": "touch made"}, "LOW")), says("ok"))
    d.tools[shell.name] = shell
    d.session.send("go")
    d.run()
    yield d
    shell.close()


def edit(d, command: str) -> None:
    d.answer("edited", edited={"command": command})


def decisions(d) -> list[str]:
    return [event.verdict for event in d.log() if event.kind == "action_decided"]


def test_edited_command_of_the_same_risk_runs_as_written(asked, tmp_path):
    edit(asked, "touch other")
    assert decisions(asked) == ["edited"]
    assert (tmp_path / "other").exists()
    assert not (tmp_path / "made").exists()


def test_riskier_edited_command_is_shown_again_and_needs_another_approval(asked, tmp_path):
    edit(asked, "touch other && rm -rf ~/no-such-place-of-this-test")
    again = asked.session.question.assessed
    assert again.risk == "HIGH"
    assert again.edited == {"command": "touch other && rm -rf ~/no-such-place-of-this-test"}
    assert "you changed what the agent proposed" in again.reasons
    assert decisions(asked) == []
    assert not (tmp_path / "other").exists()
    asked.answer()
    assert decisions(asked) == ["edited"]
    assert (tmp_path / "other").exists()
    assert not (tmp_path / "made").exists()


def test_riskier_edited_command_can_be_rejected(asked, tmp_path):
    edit(asked, "rm -rf ~/no-such-place-of-this-test")
    asked.answer("rejected", note="never mind")
    assert decisions(asked) == ["rejected"]
    assert asked.session.phase == "idle"


def test_high_risk_command_is_asked_about_after_each_edit(asked):
    edit(asked, "rm -rf ~/no-such-place-of-this-test")
    edit(asked, "rm -rf ~/none-either-of-this-test")
    assert asked.session.question.assessed.edited == {"command": "rm -rf ~/none-either-of-this-test"}
    edit(asked, "touch other")
    assert decisions(asked) == ["edited"]
