"""The files of the workspace: snapshots, changes, safety copies, reverting and restoring."""
