"""The model of the diff viewer: document, geometry, layout and highlighted lines."""
