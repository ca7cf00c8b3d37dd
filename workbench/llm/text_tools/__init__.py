"""Tool calls as plain text, for models without tool calling."""
