"""Every use of a private name of Textual 8.2.8: a fork in one place.

The package holds the classes that override private methods, the patches of Textual's own classes, and functions that
read private attributes; the rest of `tui` uses public names only. Each entry states why it exists (`Reason`), which
names of Textual it depends on (`Upstream`), and what happens if a later Textual no longer has them (`Without it`).
`tests/tui/test_textual_seam.py` pins the source of every private method used here, so an upgrade fails there first.
The package does not depend on sessions, screens or widgets of the workbench. Import its modules individually, so that a
front end without Markdown does not load it.
"""
