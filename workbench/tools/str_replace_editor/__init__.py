"""The editor of text files: view, create, str_replace, insert, undo_edit."""
