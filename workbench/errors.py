"""The one exception a person may see: every layer raises it with a message that says what to do next."""


class WorkbenchError(Exception):
    """Something went wrong that the person can act on; the message is one clear line, without a traceback."""

    exit_code = 1


class UsageError(WorkbenchError):
    """The command line, the settings or the folder asked for do not make sense."""

    exit_code = 2
