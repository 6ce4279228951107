"""A console on which texts from elsewhere cannot do more than be read."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from allusion_es.core.texts import visible


class SafeConsole(Console):
    """Prints what it is given, but for control characters of texts.

    Escape sequences, which could move the cursor or change the terminal, and characters that
    change the direction of writing, are shown as `\N{REPLACEMENT CHARACTER}`.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """See `Console.render`."""
        for segment in super().render(renderable, options):
            if segment.control is None:
                yield Segment(visible(segment.text), segment.style)
            else:
                yield segment
