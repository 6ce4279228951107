"""Names of indexes: the same rules on disk and on a server."""

import re

from allusion_es.core.errors import UsageError

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")


def check_name(name: str) -> str:
    """`name` itself, if it can name an index.

    Raises:
        UsageError: It has other characters than lower-case letters, digits, - and _, begins
            with - or _, or is longer than 100 characters.

    Example:
        >>> check_name("vulgate")
        'vulgate'
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"index name {name[:100]!r}: use up to 100 lower-case letters, digits, - and _, "
            "and begin with a letter or digit"
        )
    return name
