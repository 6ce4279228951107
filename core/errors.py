"""The errors that a user can meet: one line each, and an exit code of its own.

Every error that this project raises on purpose is an `AllusionError`. Its message is one
line that says what is wrong, where, and what to do; the command line prints it and exits
with `exit_code`.
"""

LONGEST_MESSAGE = 1_000
"""Most characters of a message; what it quotes from files and servers can be of any length."""


class AllusionError(Exception):
    r"""Any error that is the user's to mend, told in one line.

    Whatever the message quotes from files and servers, it stays one line, of at most
    `LONGEST_MESSAGE` characters, in which control characters are written as `\x1b` and so on.

    Args:
        reason: What is wrong, where, and what to do.
        argument: The argument whose value is wrong, by its name in Python, if it is one's: the
            message begins with it, on the command line with its option's name.

    Attributes:
        exit_code: The exit status of the command line, distinct in each subclass.
        reason: As given.
        argument: As given.

    Example:
        >>> InputError("links.tsv:3: column 'id' is empty; give each passage an id").exit_code
        4
        >>> print(UsageError("must be at least 1, not 0", argument="top"))
        top: must be at least 1, not 0
    """

    exit_code = 1

    def __init__(self, reason: str, *, argument: str = "") -> None:
        super().__init__(one_line(f"{argument}: {reason}" if argument else reason))
        self.reason = reason
        self.argument = argument


def one_line(text: str) -> str:
    r"""The text on one line, without control characters, its middle left out where it is too long.

    Example:
        >>> one_line("no\n verse \x1b[31m")
        'no verse \\x1b[31m'
    """
    line = " ".join(text.split())
    if not line.isprintable():
        line = "".join(c if c.isprintable() else _escaped(c) for c in line)
    if len(line) > LONGEST_MESSAGE:
        half = (LONGEST_MESSAGE - 3) // 2
        line = f"{line[:half]} … {line[-half:]}"
    return line


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


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


class VectorError(InputError):
    """A word's vector cannot be computed with; texts without the word are not concerned."""


class PluginError(AllusionError):
    """A plug-in is unknown, cannot be loaded, or fails."""

    exit_code = 11


class StorageError(AllusionError):
    """A file cannot be written: disk full, no permission."""

    exit_code = 12


class LeftOutError(AllusionError):
    """A batch was worked through, but some of its queries or records had to be left out."""

    exit_code = 13
