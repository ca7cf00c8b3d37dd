"""The fold from events to what the screen shows; pure, no textual."""
