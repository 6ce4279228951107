"""Notes on stderr, apart from results on stdout."""

import sys

from allusion_es.core.characters import visible


def print_note(note: str) -> None:
    """Print a note; what texts and names of files bring along cannot act on the terminal."""
    print(f"note: {visible(note)}", file=sys.stderr)
