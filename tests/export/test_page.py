"""The HTML page of a session in a real browser: search, keys, themes, hostile text, and what its policy stops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.chromium import headless, wait_in
from tests.export.test_transcript import EVIL
from tests.tools.browser.conftest import chromium
from tests.tui.sample_session import Script, working_session
from workbench.protocol import events as ev
from workbench.view.transcript.html import page_of

__all__ = ["chromium"]
pytestmark = pytest.mark.timeout(400)  # a Chromium may have to be installed first

HUGE = "x" * 1_000_000
INJECTED = "<script>document.title = 'injected'</script><img src=x onerror=\"document.title = 'injected'\">"
STYLED = "<style>main { display: none }</style><p style='position: fixed; inset: 0'>over everything</p>"


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with headless(chromium) as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1200, "height": 800}, color_scheme="light")
    yield context.new_page()
    context.close()


def html(script: Script) -> str:
    return "\n".join(page_of(script.recorded()))


def opened(page: Page, directory: Path, text: str) -> Page:
    file = directory / "session.html"
    file.write_text(text, encoding="utf-8", errors="replace")
    page.goto(file.as_uri())
    return page


VISIBLE = "main > details:not([hidden])"


def summaries(page: Page) -> list[str]:
    """Return the lines of the steps that are visible.

    The browser lays out all of them for that, which takes seconds in a long page; to count them, use `visible_steps`.
    """
    return page.locator(f"{VISIBLE} > summary").all_inner_texts()


def visible_steps(page: Page) -> int:
    return page.locator(VISIBLE).count()


def background(page: Page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def long_script(events: int) -> Script:
    script = Script().start().user("Do a lot.")
    while len(script.events) < events - 7:
        number = script.actions
        if number % 5 == 0:
            script.answer(f"Step **{number}** begins.\n\nIt goes on.")
        script.run("execute_bash", f"line {number}\nok", command=f"echo {number}", _exit_code=0)
    script.add(ev.RunEnded, reason="finished", detail="")
    return script


def test_search_shows_only_the_steps_with_the_text_and_opens_them(page: Page, tmp_path: Path):
    opened(page, tmp_path, html(working_session()))
    assert visible_steps(page) == 8
    page.keyboard.press("/")
    page.keyboard.type("1 FAILED")
    wait_in(page, lambda: visible_steps(page) == 1, "the other steps to be hidden")
    assert "pytest -q" in summaries(page)[0]
    assert page.locator("pre", has_text="1 failed, 11 passed").is_visible()
    assert page.locator("#count").inner_text() == "1 of 11"
    assert page.evaluate("CSS.highlights.get('match').size") == 1
    page.keyboard.press("Escape")
    wait_in(page, lambda: visible_steps(page) == 8, "all steps to be back")
    page.keyboard.press("/")
    page.keyboard.type("1 FAILED")
    page.keyboard.press("Enter")
    assert "pytest -q" in page.evaluate("document.activeElement.innerText")  # though no time has passed
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("no such text")
    wait_in(page, lambda: not visible_steps(page), "all steps to be hidden")
    assert page.locator("#count").inner_text() == "0 of 11"


def test_keys_move_between_steps_and_fold_one_or_all(page: Page, tmp_path: Path):
    opened(page, tmp_path, html(working_session()))
    folded = page.locator("main > details:not([open])")
    assert folded.count() == 7  # only the diff is open at first
    page.keyboard.press("j")
    assert "You" in page.evaluate("document.activeElement.innerText")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert "1. ▤ plan" in page.evaluate("document.activeElement.innerText")
    assert page.url.endswith("#s1")
    page.keyboard.press("o")
    assert page.locator("#s1").get_attribute("open") is not None
    page.keyboard.press("o")
    assert page.locator("#s1").get_attribute("open") is None
    page.keyboard.press("e")
    assert folded.count() == 0
    page.keyboard.press("e")
    assert folded.count() == 8
    page.keyboard.press("k")
    page.keyboard.press("k")
    assert "You" in page.evaluate("document.activeElement.innerText")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#keys").is_visible()


def test_link_to_a_step_leads_to_it(page: Page, tmp_path: Path):
    opened(page, tmp_path, html(long_script(1_000)))
    page.goto(f"{page.url}#s120")
    page.reload()
    assert page.locator("#s120 > summary").evaluate("(line) => line === document.activeElement")
    header = page.locator("header").bounding_box()["height"]
    wait_in(page, lambda: header <= page.locator("#s120").bounding_box()["y"] < 770, "the step to be in view")
    page.locator("#timeline a").nth(60).click()
    assert page.url.endswith("#s60")


def test_link_to_a_step_that_the_search_hides_shows_it(page: Page, tmp_path: Path):
    opened(page, tmp_path, html(working_session()))
    page.keyboard.press("/")
    page.keyboard.type("no such text")
    wait_in(page, lambda: not visible_steps(page), "all steps to be hidden")
    page.locator("#changes a").click()
    wait_in(page, lambda: page.locator("#s6 pre").first.is_visible(), "the step to be open")
    assert visible_steps(page) == 8


def test_removed_comment_of_two_dashes_is_a_removed_line(page: Page, tmp_path: Path):
    script = Script().start()
    delta = ev.FileDelta(path="/a.sql", before="-- old\nselect 1;\n", after="++ new\nselect 1;\n")
    script.run("str_replace_editor", "ok", command="create", path="/a.sql", _files=(delta,))
    opened(page, tmp_path, html(script))
    assert page.locator("del").inner_text().strip() == "--- old"
    assert page.locator("ins").inner_text().strip() == "+++ new"


def test_columns_of_a_table_are_aligned(page: Page, tmp_path: Path):
    violations = []
    page.on("console", lambda line: violations.append(line.text))
    opened(page, tmp_path, html(Script().start().user("Add.").answer("| a | b |\n|--:|:-:|\n| 1 | 2 |")))
    styles = page.locator("main td").evaluate_all("(cells) => cells.map((cell) => getComputedStyle(cell).textAlign)")
    assert styles == ["right", "center"]
    assert violations == []


def test_plan_changes_and_costs_are_beside_the_steps(page: Page, tmp_path: Path):
    opened(page, tmp_path, html(working_session()))
    assert "Plan 1/3" in page.locator("#tasks").text_content()
    assert "src/calc.py +2 −1" in page.locator("#changes").inner_text()
    assert page.locator("#costs td").all_inner_texts() == ["m", "2", "0", "0", "$0.02"]
    page.locator("#changes a").click()
    added = page.locator("#s6 ins")
    assert "sign = -1" in added.inner_text()
    assert page.evaluate("getComputedStyle(document.querySelector('#s6 ins')).backgroundColor") != "rgba(0, 0, 0, 0)"


def test_theme_follows_the_system_until_it_is_chosen(page: Page, tmp_path: Path):
    opened(page, tmp_path, html(working_session()))
    light = background(page)
    page.emulate_media(color_scheme="dark")
    dark = background(page)
    assert dark != light
    page.keyboard.press("t")
    assert background(page) == light
    page.locator("#theme").click()
    assert background(page) == dark
    page.emulate_media(color_scheme="light")
    assert background(page) == dark


def test_picture_of_the_screen_is_shown_above_the_steps(page: Page, tmp_path: Path):
    picture = (
        "<svg xmlns='http://www.w3.org/2000/svg' width='80' height='40'><style>rect { fill: red }</style><rect/></svg>"
    )
    opened(page, tmp_path, "\n".join(page_of(working_session().recorded(), picture)))
    assert page.locator("figure img").evaluate("(image) => [image.naturalWidth, image.naturalHeight]") == [80, 40]


def test_page_can_be_read_without_scripts(browser: Browser, tmp_path: Path):
    context = browser.new_context(java_script_enabled=False)
    page = opened(context.new_page(), tmp_path, html(working_session()))
    assert not page.locator("#tools").is_visible()
    page.locator("#s2 > summary").click()
    assert page.locator("#s2 pre").last.is_visible()
    context.close()


def test_hostile_text_neither_runs_nor_breaks_the_page(page: Page, tmp_path: Path):
    script = Script().start(model=EVIL[0], workspace=f"/home/{EVIL[0]}")
    for text in (*EVIL, INJECTED, STYLED, HUGE):
        script.user(text).answer(text, reasoning=text)
        script.run("execute_bash", text, command=text)
        delta = ev.FileDelta(path=f"/{text[:40]}", before=text, after=f"{text}\n{text}")
        script.run("str_replace_editor", text, command="view", path=text[:99], _files=(delta,))
    requests, dialogs = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    opened(page, tmp_path, html(script))
    page.keyboard.press("e")
    assert page.title() == "<script>alert(1)</script>"
    assert (requests, dialogs) == ([page.url], [])
    assert page.locator("main").is_visible()
    assert page.locator("main img, main a, main style, main [style]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200
    assert page.evaluate("/[\\u202a-\\u202e\\u2066-\\u2069\\u001b\\u009b]/.test(document.body.textContent)") is False
    page.keyboard.press("/")
    page.keyboard.type("iframe")
    wait_in(page, lambda: visible_steps(page) == 2, "the search to work")


def test_policy_stops_what_was_not_escaped(page: Page, tmp_path: Path):
    text = html(working_session()).replace("<main>", f"<main>{INJECTED}{STYLED}")
    violations = []
    page.on("console", lambda line: violations.append(line.text))
    opened(page, tmp_path, text)
    page.evaluate(
        "document.head.appendChild(Object.assign(document.createElement('script'), {text: 'document.title = 1'}))"
    )
    assert page.title() == "Fix the failing test."
    assert page.locator("main").is_visible()
    assert page.locator("main > p").first.evaluate("(line) => getComputedStyle(line).position") == "static"
    assert sum("Content Security Policy" in each for each in violations) >= 4
    page.keyboard.press("e")
    assert page.locator("main > details:not([open])").count() == 0  # the page's own script runs


@pytest.mark.parametrize("events", [10, 1_000, 10_000])
def test_page_of_any_length_opens_and_is_searched_at_once(page: Page, tmp_path: Path, events: int):
    script = long_script(events)
    opened(page, tmp_path, html(script))
    assert page.locator("main > details").count() == script.actions
    assert page.locator("#timeline a").count() == script.actions + 1
    page.keyboard.press("/")
    page.keyboard.type(f"echo {script.actions - 1}")
    wait_in(page, lambda: visible_steps(page) == 1, "the last step to be the only one", seconds=5)
    page.keyboard.press("Enter")
    assert page.url.endswith(f"#s{script.actions}")
