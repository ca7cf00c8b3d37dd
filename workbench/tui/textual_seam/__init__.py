"""Every use of a private name of Textual 8.2.8: a fork in one place.

Here live the classes that override private methods, the patches of Textual's own classes, and functions that read
private attributes; the rest of `tui` uses public names only. Each entry states why it exists (`Reason`), which class of
Textual it depends on (`Upstream`) and what happens when a later Textual no longer has the name (`Without it`).
`tests/tui/test_textual_seam.py` pins the source of every private method used here, so an upgrade fails there first.
The package knows nothing of sessions, screens or widgets of the workbench. Modules are imported one by one: a front end
that shows no Markdown does not load it.
"""
