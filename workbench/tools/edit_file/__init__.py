"""Edits by draft: a model merges a draft with the lines it stands for."""
