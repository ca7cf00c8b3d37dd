import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.tui.sample_session import Script, working_session
from workbench.session.storage.store import Store
from workbench.view.transcript.html import page_of
from workbench.view.transcript.markdown import markdown_of
from workbench.view.transcript.transcript import Recorded, RecordedState

EVIL = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "![pixel](http://example.org/p.png)",
    "<http://example.org>",
    "[ref]: http://example.org\n\n[ref]",
    "</details></section><iframe>",
    "```\nnever closed\n<b>",
    '````html" onload=x\n```\n</pre><script>',
    "a `<b>` and \\`<script>\\`",
    "\x1b]52;c;aGk=\x07\u202e\x9b31m\x00",
    "| a |\n|---|\n| <script> |",
    '| a | b |\n|--:|:-:|\n| 1 | <td style="text-align:left"> |',
    "&lt;script&gt; --> ]]> {{x}}",
)
TAGS = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "h4", "h5", "h6", "dl", "dt", "dd"}
TAGS |= {"section", "p", "div", "details", "summary", "pre", "ins", "del", "ul", "ol", "li", "strong", "em", "code"}
TAGS |= {"blockquote", "table", "thead", "tbody", "tr", "th", "td", "hr", "br"}
PAGE = {"header", "aside", "nav", "main", "a", "i", "small", "input", "output", "button", "dialog", "kbd", "script"}
"""The tags that only the page has, around the session and for its own operation."""


def evil_session(text: str) -> Script:
    script = Script().start(model=text).user(text)
    script.answer(text, reasoning=text)
    script.run("execute_bash", text, command=text)
    script.run("finish", "", message=text)
    return script


ALIGNMENTS = {("style", f"text-align:{side}") for side in ("left", "center", "right")}
"""The attributes of the cells of a table whose columns are aligned."""


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found, self.open, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, tuple(attrs)))
        self.open += [tag] if tag not in ("meta", "br", "hr", "input", "img") else []

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, tuple(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def read_page(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


@pytest.mark.parametrize("text", EVIL)
def test_session_text_never_becomes_html_markup(text):
    page, harmless = ("\n".join(page_of(evil_session(each).recorded())) for each in (text, "harmless"))
    reader = read_page(page)
    assert {tag for tag, _ in reader.found} <= TAGS | PAGE
    own = [found for found in read_page(harmless).found if found[0] in PAGE | {"style", "meta"}]
    assert [found for found in reader.found if found[0] in PAGE | {"style", "meta"}] == own
    in_session = reader.found[reader.found.index(("main", ())) : reader.found.index(("dialog", (("id", "keys"),)))]
    assert {name for _, attrs in in_session for name, _ in attrs} <= {"class", "id", "open", "start"}
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page)


@pytest.mark.parametrize("text", EVIL)
def test_session_text_never_becomes_html_or_links_in_markdown(text):
    document = "\n".join(markdown_of(evil_session(text).state()))
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(document)
    reader = read_page(rendered)
    assert {tag for tag, _ in reader.found} <= TAGS
    attributes = {attribute for _, attrs in reader.found for attribute in attrs}
    assert {name for name, value in attributes - ALIGNMENTS} <= {"class", "start"}
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", document)
    assert sum(tag == "details" for tag, _ in reader.found) == 3  # reasoning, and call and output of the command


def test_transcript_contains_messages_actions_and_changes():
    state = working_session().state()
    for text in ("\n".join(markdown_of(state)), read_page("\n".join(page_of(RecordedState(state)))).text):
        for words in (
            "Fix the failing test.",
            "pytest -q",
            "exit 1",
            "1 failed, 11 passed",
            "sign = -1 if",
            "rm -rf build",
        ):
            assert words in text


def test_agents_plain_markdown_is_unchanged():
    document = "\n".join(markdown_of(working_session().state()))
    assert "> The parser **drops the sign** when the number has leading blanks:" in document
    assert "> ```python\n> int(text.lstrip('-'))\n> ```" in document


ANSWER = """## What I found

| File | Lines |
|------|-------|
| `a[0].py` | **12** |

See [the docs](https://example.org) and <b>this</b>:

```python
rows = [link](call) < 3
```

- `x[0](y)` stays
"""


def test_form_of_an_answer_with_a_link_stays():
    document = "\n".join(markdown_of(Script().start().user("go").answer(ANSWER).state()))
    for line in ("## What I found", "| `a[0].py` | **12** |", "rows = [link](call) < 3", "- `x[0](y)` stays"):
        assert f"> {line}" in document
    assert r"> See \[the docs\](https://example.org) and \<b\>this\</b\>:" in document


@given(
    st.lists(
        st.sampled_from([*"[]()<>!`\\: \n>-~|", "a", "http://x", "javascript:x", "    ", "```", "<b>"]), max_size=25
    )
)
def test_no_mix_of_marks_becomes_active(marks):
    document = "\n".join(markdown_of(Script().start().user("go").answer("".join(marks)).state()))
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    reader.validateLink = lambda url: True
    assert {tag for tag, _ in read_page(reader.render(document)).found} <= TAGS


def test_secrets_known_now_are_masked_in_older_recordings(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "hush-hush-4711-abcd")
    script = Script().start().user("the key is hush-hush-4711-abcd\x9b")
    with Store.create(tmp_path / "a.session") as store:
        store.append(*script.events)
        lines = list(Recorded(store).lines())
        assert "hush-hush" not in "\n".join([*lines, *markdown_of(Recorded(store).state())])
        assert "\x9b" not in lines[1]
        assert [event.seq for event in Recorded(store).events()] == [1, 2]
        assert [event.seq for event in Recorded(store, 1).events()] == [1]
