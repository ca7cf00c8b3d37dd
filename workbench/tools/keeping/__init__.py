"""Programs that run for a tool and leave nothing behind: a keeper process ends whatever they started."""
