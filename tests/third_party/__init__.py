"""A package of somebody else: its tool is shown and rated without a line in `workbench`."""
