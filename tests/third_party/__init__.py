"""A package of another project: its tool is shown and rated without a line in `workbench`."""
