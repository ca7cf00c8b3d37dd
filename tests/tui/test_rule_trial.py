"""Which actions of a session a rule matches."""

from workbench.rules.rule import parse_rule
from workbench.view.approval.rule_preview import fitting
from workbench.view.state import ActionItem, SessionState


def session(*commands: str) -> SessionState:
    state = SessionState()
    state.workspace = "/home/u/proj"
    for number, command in enumerate(commands, 1):
        risk = "HIGH" if command.startswith("rm -rf") else "MEDIUM"
        arguments = {"command": command}
        item = ActionItem(seq=number, number=number, action_id=f"a{number}", tool="execute_bash", arguments=arguments)
        item.risk = risk
        state.actions[item.action_id] = item
    return state


def numbers(rule: str, state: SessionState) -> list[int]:
    return [action.number for action in fitting(parse_rule(rule), state)]


def test_rule_is_tried_on_the_actions_of_the_session():
    state = session("pytest -q", "pytest -q | cat", "make", "pytest  -q", "sh -c 'make all'", "rm -rf /")
    assert numbers("allow $ pytest -q", state) == [1, 2, 4]
    assert numbers("deny $ make *", state) == [3, 5]
    assert numbers("ask execute_bash", state) == [1, 2, 3, 4, 5, 6]
    assert numbers("deny $ rm *", state) == [6]
    assert numbers("deny in /home/u/proj/src", state) == []


def test_high_risk_actions_are_never_among_allowed_ones():
    state = session("rm -rf build")
    assert numbers("allow $ rm -rf build", state) == []
    assert numbers("ask $ rm *", state) == [1]
