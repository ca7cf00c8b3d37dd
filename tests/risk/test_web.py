"""The risk of fetching an address, and the rules for addresses."""

import pytest

from tests.rules.offered import narrowest
from workbench.cli.rules import tried_call
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.protocol.risk import effective
from workbench.risk import RatingContext, assess
from workbench.risk.actions import assess_url, canonical
from workbench.rules.policy import rule_on
from workbench.rules.rule import Rule, parse_rule
from workbench.rules.rule_files import subject_again, too_wide
from workbench.rules.rule_set import RuleSet, deciding
from workbench.rules.subject import Subject, subject_of
from workbench.tools import WebReadTool


def subject(url: str) -> Subject:
    return subject_of("web_read", {"url": url}, assess_url(url), "/work")


@pytest.mark.parametrize(
    "url",
    [
        *("https://docs.python.org/3/library/re.html#x", "http://localhost:8000/", "https://example.org"),
        *("https://example.org/a?b=c&d=%20e", "http://192.168.1.4/", "https://[2606:4700::1]/x"),
    ],
)
def test_reading_the_web_is_medium(url):
    assessment = assess_url(url)
    assert assessment.risk == "MEDIUM"
    assert assessment.parts[0].paths == (canonical(url),)


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "javascript:alert(1)", "http://169.254.169.254/latest/meta-data/", "example.org"),
        *("https://me:pw@example.org/", "https://good.org\\@evil.org/", "https://good.org@evil.org/"),
        *("https://ex\u0430mple.org/"),
        *("https://example.org/a/../b", "https://example.org/%2e%2e/b", "https://example.org/a\u200bb"),
        "https://e.org/ x",
        *("https://example.org/?k=ghp_0123456789abcdefghijklmnopqrstuvwxyz", "https://e.org/?d=" + "a" * 700),
        *("https://e.org/?k=‹secret API_KEY›", "https://metadata.google.internal/x"),
    ],
)  # fmt: skip
def test_url_that_is_not_plain_or_carries_data_is_high(url):
    assert assess_url(url).risk == "HIGH"
    assert narrowest(subject(url), "HIGH") is None


def test_page_is_asked_about_in_the_default_mode():
    with WebReadTool() as tool:
        assessment = assess(tool, {"url": "https://example.org/"}, RatingContext("/work"))
        ruling = rule_on("medium", effective("UNKNOWN", assessment.risk), tool.is_read_only, tool.name)
        assert (ruling.verdict, assessment.reasons) == ("ask", ("reads from the network",))
        assert rule_on("plan", effective("LOW", assessment.risk), tool.is_read_only, tool.name).verdict == "ask"


def test_always_allows_one_host_only():
    rule = narrowest(subject("https://Docs.Python.org/3/x?y=1"), "MEDIUM")
    assert rule is not None
    assert rule.text == "allow web_read in https://docs.python.org/**"
    assert parse_rule(rule.text) == rule
    for url, allowed in {
        "https://docs.python.org/4/": True,
        "https://docs.python.org": True,
        "https://docs.python.org.evil.org/": False,
        "http://docs.python.org/4/": False,
        "https://docs.python.org:8443/": False,
        "https://evil.org/https://docs.python.org/x": False,
        "https://docs.python.org/../x": False,
    }.items():
        assert (deciding([rule], subject(url)) is not None) is allowed, url


def test_rules_may_deny_urls_but_not_allow_all():
    deny = parse_rule("deny web_read in https://example.org/private/**")
    assert deciding([deny, Rule("allow", "web_read")], subject("https://example.org/Private/x")) == deny
    assert deciding([deny, Rule("allow", "web_read")], subject("https://example.org/public")) != deny
    assert too_wide(Rule("allow", "web_read", path="https://**"))
    assert too_wide(Rule("allow", "web_read", path="https://*.org/**"))
    assert not too_wide(Rule("allow", "web_read", path="https://example.org/**"))


def test_examples_and_past_actions_of_a_rule_may_be_urls(tmp_path):
    file = tmp_path / "rules.toml"
    entry = (
        '[[allow]]\ntool = "web_read"\npath = "https://docs.python.org/**"\nmatch = ["https://docs.python.org/3/"]\n'
    )
    file.write_text(f'{entry}not_match = ["https://docs.python.org.evil.org/", "http://docs.python.org/"]\n')
    book = RuleSet(file)
    assert book.faults == ()
    again = subject_again("web_read", {"url": "https://docs.python.org/4/"}, "/work")
    assert deciding(book.rules(), again) is not None
    file.write_text(entry.replace("python.org/3", "elsewhere.org/3"))
    assert "does not match its example" in RuleSet(file).faults[0]


def test_rules_test_accepts_a_url(tmp_path):
    where = Locations(tmp_path / "c", tmp_path / "d", tmp_path / "s", tmp_path / "r")
    report = "\n".join(tried_call(where, Settings(), tmp_path, "web_read", "https://example.org/a"))
    assert "MEDIUM" in report
    assert "web_read https://example.org/a" in report
    assert "reads from the network" in report
