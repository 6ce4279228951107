"""The errors that a user can meet: one line each, and an exit code of its own.

Every error that this project raises on purpose is an `AllusionError`. Its message is one
line that says what is wrong, where, and what to do; the command line prints it and exits
with `exit_code`.
"""


class AllusionError(Exception):
    """Any error that is the user's to mend, told in one line.

    Attributes:
        exit_code: The exit status of the command line, distinct in each subclass.

    Example:
        >>> InputError("links.tsv:3: column 'id' is empty; give each passage an id").exit_code
        4
    """

    exit_code = 1


class UsageError(AllusionError):
    """An option or argument has a value that cannot be used."""

    exit_code = 2


class ServerUnavailableError(AllusionError):
    """Nothing answers at the server's address, or not in time."""

    exit_code = 3


class InputError(AllusionError):
    """A text, table or file cannot be read as what it should be."""

    exit_code = 4


class VerseError(AllusionError):
    """A verse reference cannot be read, or names a verse that does not exist."""

    exit_code = 5


class DownloadError(AllusionError):
    """Data could not be fetched, or is not what was expected."""

    exit_code = 6


class IndexMissingError(AllusionError):
    """There is no index of that name."""

    exit_code = 7


class IndexDamagedError(AllusionError):
    """A saved index is damaged, or of a format that this version does not read."""

    exit_code = 8


class SettingsMismatchError(AllusionError):
    """An index was built with other settings than the query asks for."""

    exit_code = 9


class ServerRefusedError(AllusionError):
    """A server answered, but refuses: wrong password, version, product, read-only, full."""

    exit_code = 10


class PluginError(AllusionError):
    """A plug-in is unknown or cannot be loaded."""

    exit_code = 11


class StorageError(AllusionError):
    """A file cannot be written: disk full, no permission."""

    exit_code = 12
