"""Settings: where they are, how they are read, checked and edited, and the profiles of models."""
