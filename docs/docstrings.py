"""Docstrings as the documentation site reads them (an extension of griffe)."""

import re
from typing import Any

from griffe import Extension, Object


class Examples(Extension):
    """Shows what stands under `Example:` as code; griffe knows only `Examples:`."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:  # noqa: ANN401
        """Change the docstring of one object."""
        if obj.docstring:
            obj.docstring.value = re.sub(
                r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE
            )
