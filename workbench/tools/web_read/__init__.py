"""Reading a page of the web as Markdown."""
