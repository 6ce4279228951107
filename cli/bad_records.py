"""Records of a collection that cannot be read: each is told, and costs none of the others."""

import sys

from allusion_es.core.errors import InputError, LeftOutError

_TOLD = 20
"""Records that are told one by one; of a file of another layout, every line is one."""


class BadRecords:
    """Takes the errors of records, tells them on stderr, and counts them.

    Attributes:
        count: How many there were.
    """

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, error: InputError) -> None:
        """Take the error of a record."""
        self.count += 1
        if self.count <= _TOLD:
            print(f"left out: {error}", file=sys.stderr)
        elif self.count == _TOLD + 1:
            print("left out: and more", file=sys.stderr)

    def check(self) -> None:
        """Raise an error, once all is done, if there were any.

        Raises:
            LeftOutError: Some records were left out.
        """
        if self.count:
            were = "record was" if self.count == 1 else "records were"
            raise LeftOutError(
                f"{self.count} {were} left out, since they cannot be read; the others are there"
            )
