"""The state of the browser: URL, title, tabs, the tree of elements and a screenshot; used by `program`."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from typing import Any, Final

from playwright.async_api import Error, Frame, Page

from workbench.lazy_pattern import lazy_pattern
from workbench.tools.browser.tabs import Tabs

MASK: Final = "•••"
_NAMES = ("current-password", "new-password", "one-time-code", "cc-number", "cc-csc", "cc-exp")
_SECRET = ", ".join(
    (
        "input[type=password]",
        *(f"input[autocomplete*={name} i], textarea[autocomplete*={name} i]" for name in _NAMES),
        *(f"input[{where}*={word} i]" for where in ("name", "id") for word in ("passw", "pwd")),
    )
)
STYLE: Final = f":is({_SECRET}) {{ -webkit-text-security: disc !important }}"
"""Shows dots in all secret fields of a screenshot, as browsers do for passwords."""
_IS_SECRET = (
    "e => /^(INPUT|TEXTAREA)$/.test(e.nodeName)"
    " && !/^(checkbox|radio|file|submit|button|reset|image|range)$/.test(e.type)"
    f" && (e.matches({_SECRET!r}) || !['', 'none', undefined].includes(getComputedStyle(e).webkitTextSecurity))"
)
_VALUES = (
    f"() => {{ const secret = {_IS_SECRET};"
    """
  const values = []
  const visit = root => {
    for (const e of root.querySelectorAll('*')) {
      if (e.shadowRoot) visit(e.shadowRoot)
      if (/^(INPUT|TEXTAREA)$/.test(e.nodeName) && e.value && secret(e)) values.push(e.value)
    }
  }
  visit(document)
  return values
}"""
)
_LINE = lazy_pattern(r"( *)- '?[\w-]+(?: \"(?:[^\"\\]|\\.)*\")?((?: \[[^\[\]]*\])*)'?(:?)(.*)")
"""A line of the tree: indentation, attributes in brackets, content."""
_REF = lazy_pattern(r"\[ref=(\w+)\]")
_FIELD = lazy_pattern(r" *- '?(?:textbox|searchbox|combobox|spinbutton)\b")
_MOST_FIELDS = 200
_SHORT = 4
"""The fewest characters of a secret value that is masked on the whole page; shorter ones would match too much."""
_FIELD_PATIENCE = 2_000.0


async def masked(page: Page, tree: str) -> str:
    """Return the tree with the contents of secret fields masked, also where the same strings appear elsewhere."""
    try:
        values = [value for frame in page.frames for value in await frame.evaluate(_VALUES)]
    # The page is navigating, so all of its fields are masked.
    except Error:
        return _without(tree, set(_fields(tree)))
    if not values:
        return tree
    fields = _fields(tree)
    asked = await asyncio.gather(*(_is_secret(page, ref) for ref in fields[:_MOST_FIELDS]))
    secret = {ref for ref, is_secret in zip(fields, asked, strict=False) if is_secret}
    return _elsewhere(_without(tree, {*secret, *fields[_MOST_FIELDS:]}), values)


async def _is_secret(page: Page, ref: str) -> bool:
    """Return whether the element is a secret field; True if it can no longer be queried."""
    try:
        return bool(await page.locator(f"aria-ref={ref}").evaluate(_IS_SECRET, timeout=_FIELD_PATIENCE))
    except Error:
        return True


def _fields(tree: str) -> list[str]:
    """Return the IDs of all fields that have content."""
    lines = tree.split("\n")
    numbers = [number for number, line in enumerate(lines) if _FIELD.match(line) and _holds(lines, number)]
    return [ref for number in numbers if (ref := _ref(lines[number]))]


def _ref(line: str) -> str:
    match = _LINE.fullmatch(line)
    ref = _REF.search(match[2]) if match else None
    return ref[1] if ref else ""


def _holds(lines: list[str], number: int) -> bool:
    """Return whether the field has text, in its line or directly below."""
    match = _LINE.fullmatch(lines[number])
    if match is None or not match[3]:
        return False
    inner = f"{match[1]}  - "
    following = lines[number + 1 :]
    return bool(match[4]) or any(line.startswith(f"{inner}text:") for line in _inside(following, inner))


def _inside(lines: list[str], inner: str) -> list[str]:
    """Return the leading lines that are indented like `inner`."""
    for number, line in enumerate(lines):
        if not line.startswith(inner):
            return lines[:number]
    return lines


def _without(tree: str, secret: set[str]) -> str:
    """Return the tree with the contents of these fields masked."""
    lines, deep, masked_lines = tree.split("\n"), -1, []
    for line in lines:
        match = _LINE.fullmatch(line)
        if match and len(match[1]) <= deep:
            deep = -1
        if deep >= 0:
            masked_lines.append(
                f"{line.partition('- text:')[0]}- text: {MASK}" if line.lstrip().startswith("- text:") else line
            )
            continue
        if match and _ref(line) in secret:
            deep = len(match[1])
            line = f"{line[: match.start(4)]} {MASK}" if match[4] else line
        masked_lines.append(line)
    return "\n".join(masked_lines)


def _elsewhere(tree: str, values: list[str]) -> str:
    """Return the tree with these strings masked, both as they are and as the tree escapes them."""
    for value in sorted({" ".join(value.split()) for value in values}, key=len, reverse=True):
        if len(value) >= _SHORT:
            quoted = value.replace("\\", "\\\\").replace('"', '\\"')
            for form in (quoted, value, quoted.replace("'", "''"), value.replace("'", "''")):
                tree = tree.replace(form, MASK)
    return tree


LONGEST_TREE = 16_000
_PATIENCE = 5.0
_MOST_PDFS = 5


async def capture(tabs: Tabs, *, pictures: bool) -> dict[str, Any]:
    """Return the state of the active page; a tab that does not respond is replaced."""
    await tabs.revive()
    page = tabs.front
    try:
        async with asyncio.timeout(_PATIENCE):
            tree, picture, title = await asyncio.gather(_tree(page), _picture(page, pictures), page.title())
    except (TimeoutError, Error) as error:
        if isinstance(error, TimeoutError) or not page.is_closed():
            await tabs.renew()
        return {"url": tabs.front.url, "title": "", "tabs": await _listed(tabs), "tree": "", "picture": ""}
    page_state = {"url": page.url, "title": title, "tabs": await _listed(tabs), "tree": tree, "picture": picture}
    if tree and "- iframe" not in tree:
        return page_state
    frames = page.frames
    types = await asyncio.gather(*map(_content_type, frames))
    pdfs = [frame.url for frame, media_type in zip(frames, types, strict=True) if media_type == "application/pdf"]
    return {**page_state, "type": types[0], "pdfs": pdfs[:_MOST_PDFS]}


async def _content_type(frame: Frame) -> str:
    """Return the media type of the frame's document; empty if it cannot be queried."""
    with contextlib.suppress(Error, TimeoutError):
        return str(await asyncio.wait_for(frame.evaluate("document.contentType"), _PATIENCE))
    return ""


async def _tree(page: Page) -> str:
    """Return the page's elements with their IDs, with secret fields masked."""
    if page.url == "about:blank" or not await _has_body(page):
        return ""
    tree = await masked(page, await page.aria_snapshot(mode="ai", timeout=_PATIENCE * 1000))
    if len(tree) <= LONGEST_TREE:
        return tree
    cut = tree.rfind("\n", 0, LONGEST_TREE)
    return f"{tree[:cut]}\n[… {tree[cut:].count(chr(10))} lines omitted; scroll does not bring them, other pages do …]"


async def _has_body(page: Page) -> bool:
    """Return whether the document has a body; without one, as in an SVG image, playwright would wait for the tree until
    its timeout.
    """
    with contextlib.suppress(Error):
        return bool(await page.evaluate("!!document.body"))
    return True


async def _picture(page: Page, enabled: bool) -> str:
    """Return a screenshot of the visible part, as base64 JPEG; empty if none can be taken."""
    if not enabled or page.url == "about:blank":
        return ""
    with contextlib.suppress(Error):
        data = await page.screenshot(
            type="jpeg", quality=70, scale="css", timeout=_PATIENCE * 1000, animations="disabled", style=STYLE
        )
        return base64.b64encode(data).decode()
    return ""


async def _listed(tabs: Tabs) -> list[str]:
    """Return one line for each tab."""
    lines = []
    for page in tabs.pages:
        title = ""
        with contextlib.suppress(Error, TimeoutError):
            title = await asyncio.wait_for(page.title(), 1)
        lines.append(f"{title or '(no title)'} {page.url}")
    return lines
