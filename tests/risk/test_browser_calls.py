"""Calls of the browser: parsed without evaluation, rated by what they do and where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.risk import RatingContext, assess
from workbench.risk.browser import assess_calls
from workbench.risk.paths import PathContext
from workbench.tools import ArgumentError, BrowserTool
from workbench.tools.browser.calls import CALLS, CallError, parse_calls

PLACES = PathContext("/w", "/home/u")


def test_fifteen_browser_calls_exist():
    assert len(CALLS) == 15
    code = "goto('https://example.org/a')\nclick('e1', button='right', modifiers=['Shift'])\nscroll(0, -200.5)"
    read = parse_calls(code)
    assert [(call.name, dict(call.arguments)) for call in read] == [
        ("goto", {"url": "https://example.org/a"}),
        ("click", {"bid": "e1", "button": "right", "modifiers": ["Shift"]}),
        ("scroll", {"delta_x": 0, "delta_y": -200.5}),
    ]
    assert parse_calls("noop(60000)")[0].arguments == {"wait_ms": 10_000}
    assert parse_calls("fill('[f1e22]', 'x')")[0].arguments["bid"] == "f1e22"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", "write 1 to 20 calls"),
        ("noop()\n" * 21, "write 1 to 20 calls"),
        ("click('e1'", "cannot be read"),
        ("x = 1", "not a plain call"),
        ("for i in []: noop()", "not a plain call"),
        ("page.click('e1')", "not a plain call"),
        ("eval('1')", "there is no call eval; there are goto, "),
        ("click(__import__('os').getcwd())", "only strings, numbers and lists"),
        ("goto(f'https://{1}')", "only strings, numbers and lists"),
        ("fill(*['e1', 'x'])", "only strings, numbers and lists"),
        ("fill(**{'bid': 'e1'})", "fill cannot be given **"),
        ("fill('e1')", "fill needs value: fill(bid, value)"),
        ("click('e1', 'left', [], 4)", "takes at most 3 arguments"),
        ("click('#buy')", "is not the id of an element"),
        ("click('e1', button='middle-left')", "must be one of left, right, middle"),
        ("scroll('a', 1)", "must be a number"),
        ("goto('file:///etc/passwd')", "starts with http:// or https://"),
        ("goto('javascript:alert(1)')", "starts with http:// or https://"),
        ("goto('example.org')", "starts with http:// or https://"),
        ("goto('https://me:pass@example.org')", "must not contain a user name or a password"),
        ("goto('http://[')", "is not a URL"),
    ],
)
def test_text_that_is_no_list_of_calls_is_refused_with_valid_ones(code, message):
    with pytest.raises(CallError) as error:
        parse_calls(code)
    assert message in str(error.value)


@given(st.sampled_from(["{}", *(f"{name}({{}})" for name in CALLS)]), st.text(max_size=80))
def test_any_text_is_parsed_or_refused_and_rated(form, text):
    code = form.replace("{}", text)
    try:
        parse_calls(code)
        is_read = True
    except CallError:
        is_read = False
    assert assess_calls(code, PLACES).risk in (("LOW", "MEDIUM", "HIGH") if is_read else ("HIGH",))


RATED = [
    ("noop(10)\nscroll(0, 100)\nhover('e1')\ngo_back()", "https://example.org/", "LOW"),
    ("goto('about:blank')", "", "LOW"),
    ("goto('https://example.org/')", "", "MEDIUM"),
    ("goto('http://localhost:3000/')", "", "MEDIUM"),
    ("click('e1')", "https://example.org/", "MEDIUM"),
    ("fill('e1', 'Ada')", "https://example.org/", "MEDIUM"),
    ("goto('http://192.168.1.1/')", "", "HIGH"),
    ("goto('http://router.lan/')", "", "HIGH"),
    ("goto('http://169.254.169.254/latest/meta-data')", "", "HIGH"),
    ("goto('https://example.org/?q=" + "x" * 700 + "')", "", "HIGH"),
    ("fill('e1', '" + "gh" + "p_" + "0123456789abcdef" * 3 + "')", "https://example.org/", "HIGH"),
    ("fill('e1', 'a\\u202eb')", "https://example.org/", "HIGH"),
    ("upload_file('e1', '/w/report.csv')", "http://localhost:3000/", "MEDIUM"),
    ("upload_file('e1', '/w/report.csv')", "https://example.org/", "HIGH"),
    ("goto('https://example.org/')\nupload_file('e1', '/w/report.csv')", "http://localhost:3000/", "HIGH"),
    ("upload_file('e1', '/home/u/.ssh/id_rsa')", "http://localhost:3000/", "HIGH"),
    ("upload_file('e1', '/home/u/letter.txt')", "http://localhost:3000/", "HIGH"),
    ("goto('file:///etc/passwd')", "", "HIGH"),
]


@pytest.mark.parametrize(("code", "origin", "risk"), RATED)
def test_calls_are_rated_by_effect_and_target(code, origin, risk):
    assert assess_calls(code, PLACES, origin).risk == risk


def test_active_page_and_element_appear_in_the_rating(tmp_path):
    with BrowserTool(tmp_path) as tool:
        tool.executor.url = "https://shop.example/"
        assessment = assess(tool, {"code": "click('e7')"}, RatingContext(str(tmp_path)))
        assert (assessment.risk, assessment.reasons) == ("MEDIUM", ("clicks on shop.example",))
        tool.executor.elements = {"e7": 'button "Buy now"'}
        assessment = assess(tool, {"code": "click('e7', button='right')"}, RatingContext(str(tmp_path)))
        assert assessment.reasons == ('clicks button "Buy now" on shop.example',)
        assert assessment.parts[0].text == "click('e7', button='right')"
        with pytest.raises(ArgumentError, match="there is no call eval"):
            tool.action_from_arguments({"code": "eval('1')"})
