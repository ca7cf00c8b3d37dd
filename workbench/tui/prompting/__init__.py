"""What helps while one writes: the history of the prompt, completion, and the files of the folder."""
