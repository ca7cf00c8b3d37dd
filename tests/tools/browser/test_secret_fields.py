"""The values of password, code and card fields are never returned, in whatever way they were entered."""

from __future__ import annotations

import html
import json

import pytest

from tests.tools.web.site import Site
from workbench.tools.browser.page_state import MASK

from .test_browser import page, use

pytestmark = pytest.mark.timeout(400)

VALUES = [
    "plain-word",
    'with "quotes" and \\ back',
    "it's: # odd",
    "  blanks   around  ",
    "пароль-秘密-🔑",
    "- begins like a list",
    "null",
    "077",
    "7",
    "'",
    "x [ref=e3]: y",
    "tab\tin it",
]
FIELDS = [
    '<input type="password" value="{}">',
    '<input type="password" placeholder="Yours" value="{}">',
    '<input type="text" autocomplete="section-a cc-number" value="{}">',
    '<input type="text" autocomplete="Current-Password" value="{}">',
    '<input name="userPassword" value="{}">',
    '<input style="-webkit-text-security: disc" value="{}">',
]


def field(number: int, told: str, value: str) -> str:
    return f"<label>Field {number} {told.format(html.escape(value))}</label>"


def test_content_of_secret_fields_is_masked(tool):
    fields = [field(n, kind, value) for n, (kind, value) in enumerate((k, v) for k in FIELDS for v in VALUES)]
    card = '<label>Lines <textarea autocomplete="cc-csc">first\nsecond: "third"</textarea></label>'
    echo = "<p>You said plain-word, and it's: # odd</p>"
    frame = '<iframe srcdoc="<input type=password aria-label=Framed value=in-a-frame>"></iframe>'
    shadow = """<div id="host"></div><script>
        const inner = '<input type=password aria-label=Deep value="in the dark">'
        host.attachShadow({mode: 'open'}).innerHTML = inner</script>"""
    plain = '<label>Plain <input value="all may read"></label><label>Pin <input value="two: words"></label>'
    whole = "".join((*fields, card, echo, frame, shadow, plain))
    with Site({"/": page(f"<title>Secrets</title><form>{whole}</form>".encode())}) as site:
        seen = use(tool, f"goto('{site.url()}')", "noop(100)")
    assert not seen.is_error, seen.text
    tree = seen.text
    for value in (*VALUES[:6], "first", "second", "in-a-frame", "in the dark"):
        for form in (value.strip(), " ".join(value.split()), json.dumps(value, ensure_ascii=False)[1:-1].strip()):
            assert form not in tree, f"{form!r} is in\n{tree}"
    assert tree.count(MASK) >= len(fields) + 5
    for read in ('Field 0" ', "/placeholder: Yours", "all may read", "two: words"):
        assert read in tree
    lines = [line for line in tree.splitlines() if '"Field ' in line]
    assert len(lines) == len(fields)
    assert not [line for line in lines if not line.endswith((":", MASK))], tree
