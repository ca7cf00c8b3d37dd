"""The one-line notation of a rule, for code that must not load the rules themselves."""

from __future__ import annotations


def rule_text(verdict: str, *, tool: str = "", path: str = "", content: str = "", command: str = "") -> str:
    """Return a rule in the notation that `parse_rule` reads."""
    if " " in path:
        import shlex

        path = shlex.quote(path)
    parts = (verdict, tool, path and f"in {path}", content and f"with {content}", command and f"$ {command}")
    return " ".join(part for part in parts if part)
