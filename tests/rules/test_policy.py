from itertools import product
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config.modes import MODES
from workbench.protocol.risk import Mode, effective
from workbench.rules.policy import rule_on
from workbench.rules.rule import Rule

RATINGS = ("UNKNOWN", "LOW", "MEDIUM", "HIGH")
HEIGHT = {rating: height for height, rating in enumerate(RATINGS)}


@pytest.mark.parametrize(("model", "local"), list(product(RATINGS, (*RATINGS, None))))
def test_effective_risk_is_the_highest_rating(model, local):
    mode = effective(model, local)
    assert HEIGHT[mode] == max(HEIGHT[model], HEIGHT[local] if local else 0)
    assert (mode == "UNKNOWN") == (model == "UNKNOWN" and local in ("UNKNOWN", None))


@given(model=st.sampled_from(RATINGS), lower=st.sampled_from(RATINGS), higher=st.sampled_from(RATINGS))
def test_local_rating_can_only_raise_the_risk(model, lower, higher):
    lower, higher = sorted((lower, higher), key=HEIGHT.__getitem__)
    assert HEIGHT[effective(model, lower)] <= HEIGHT[effective(model, higher)]
    assert HEIGHT[effective(model, lower)] >= HEIGHT[effective(model, None)]


@pytest.mark.parametrize(
    ("mode", "asked"),
    [
        ("ask", RATINGS),
        ("medium", ("UNKNOWN", "MEDIUM", "HIGH")),
        ("edits", ("UNKNOWN", "MEDIUM", "HIGH")),
        ("high", ("UNKNOWN", "HIGH")),
        ("never", ()),
    ],
)
def test_each_mode_asks_from_its_own_risk_level(mode, asked):
    ratings = {risk: rule_on(mode, risk, False, "execute_bash").verdict for risk in RATINGS}
    assert ratings == {risk: "ask" if risk in asked else "allow" for risk in RATINGS}


@pytest.mark.parametrize("mode", MODES)
def test_only_accept_edits_treats_edits_of_the_workspace_differently(mode):
    plain = {risk: rule_on(mode, risk, False, "edit_file").verdict for risk in RATINGS}
    edits = {risk: rule_on(mode, risk, False, "edit_file", edits=True).verdict for risk in RATINGS}
    assert edits == (plain | {"MEDIUM": "allow"} if mode == "edits" else plain)


def test_accepted_edits_of_protected_files_and_with_broken_rules_are_asked_about():
    assert rule_on("edits", "MEDIUM", False, "edit_file", edits=True, protected="/w/.git/hooks/x").verdict == "ask"
    assert rule_on("edits", "MEDIUM", False, "edit_file", edits=True, caution="broken").verdict == "ask"
    assert rule_on("edits", "MEDIUM", False, "edit_file", edits=True, rule=Rule("ask", "edit_file")).verdict == "ask"


@pytest.mark.parametrize("confirm", [True, False])
@pytest.mark.parametrize("mode", ["medium", "edits", "high"])
def test_modes_by_risk_ask_about_unknown_risks_as_set(mode, confirm):
    assert rule_on(mode, "UNKNOWN", False, "x", confirm_unknown=confirm).verdict == ("ask" if confirm else "allow")


@pytest.mark.parametrize("mode", MODES)
def test_low_calls_of_read_only_tools_are_never_asked_about(mode):
    assert rule_on(mode, "LOW", True, "look").verdict == "allow"


def test_read_only_tool_that_reads_elsewhere_is_asked_about_by_its_risk():
    assert rule_on("medium", "MEDIUM", True, "grep").verdict == "ask"
    assert rule_on("high", "MEDIUM", True, "grep").verdict == "allow"
    assert rule_on("high", "HIGH", True, "grep").verdict == "ask"
    assert rule_on("plan", "HIGH", True, "grep").verdict == "ask"


@pytest.mark.parametrize(("mode", "risk"), list(product(MODES, RATINGS)))
def test_rules_deny_and_ask_in_every_mode(mode, risk):
    for verdict in ("deny", "ask"):
        ruling = rule_on(mode, risk, True, "look", rule=Rule(verdict, "look", reason="It is not ours."))
        assert (ruling.verdict, ruling.by, ruling.rule) == (verdict, "rule", f"{verdict} look")
    denied = rule_on(mode, risk, True, "x", rule=Rule("deny", "x", reason="It is not ours."))
    assert "It is not ours. Do not try" in denied.reason


@pytest.mark.parametrize(("mode", "risk"), list(product(MODES, RATINGS)))
def test_rules_never_allow_high_risk_or_override_stricter_modes(mode, risk):
    ruling = rule_on(mode, risk, False, "x", rule=Rule("allow", "x"))
    if mode in ("medium", "edits", "high", "never") and risk != "HIGH":
        assert (ruling.verdict, ruling.by, ruling.rule) == ("allow", "rule", "allow x")
    else:
        assert ruling == rule_on(mode, risk, False, "x")


@pytest.mark.parametrize("mode", ["medium", "edits", "high", "never"])
def test_possibly_lost_rules_cause_questions_above_low(mode):
    for rule in (None, Rule("allow", "x")):
        assert rule_on(mode, "LOW", False, "x", rule=rule, caution="broken").verdict == "allow"
        assert rule_on(mode, "MEDIUM", False, "x", rule=rule, caution="broken").verdict == "ask"


@pytest.mark.parametrize("risk", RATINGS)
def test_plan_mode_denies_writes_with_a_reason_for_the_model(risk):
    ruling = rule_on("plan", risk, False, "execute_bash")
    assert ruling.verdict == "deny"
    assert "execute_bash was not run" in ruling.reason


def test_ruling_names_the_mode_as_the_screen_does():
    assert rule_on("medium", "HIGH", False, "execute_bash").rule == 'mode "Ask (medium+)"'
    assert tuple(MODES) == get_args(Mode)


@pytest.mark.parametrize(
    ("risk", "verdict"), [("LOW", "allow"), ("MEDIUM", "ask"), ("HIGH", "ask"), ("UNKNOWN", "ask")]
)
def test_plan_mode_allows_reading_calls_of_a_writing_tool(risk, verdict):
    assert rule_on("plan", risk, False, "str_replace_editor", reads=True).verdict == verdict
