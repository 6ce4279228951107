"""Self-contained HTML pages: style, script and data in one file that loads nothing else."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_PAGES = Path(__file__).with_name("pages")
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_SCRIPTS = {
    "report": (
        "common.js",
        "findings.js",
        "judgements.js",
        "scroller.js",
        "reading.js",
        "verse.js",
        "listing.js",
        "map.js",
        "report.js",
    ),
    "errors": ("common.js", "pager.js", "figures.js", "errors.js"),
    "figures": ("common.js", "figures.js", "figures_start.js"),
}
_STYLES = {
    "report": ("page.css", "reading.css"),
    "errors": ("page.css", "errors.css"),
    "figures": ("page.css", "errors.css"),
}


def page(name: str, title: str, data: Any) -> str:  # noqa: ANN401 - whatever JSON can hold
    """An HTML page that shows `data`, and runs from a disk without a network.

    Only the page's own style and script are allowed by its content security policy. Data is
    text to it: the script makes text nodes of it, and nothing in it can end its element.

    Args:
        name: `report`, `errors` or `figures`: which page.
        title: The page's title.
        data: Written into the element `data` for the script; without NaN or infinity. The
            element's attribute `data-id` is a hash of it.

    Example:
        >>> text = page("report", "A & B", {"x": "</script><script>alert(1)</script>"})
        >>> "<title>A &amp; B</title>" in text, "<script>alert" in text
        (True, False)
    """
    style, script = page_style(name), page_script(name)
    content = script_json(data)
    slots = {
        "title": _escaped(title),
        # The page's policy allows exactly this style and this script, by their hashes.
        "style_hash": _hash(style),
        "script_hash": _hash(script),
        "style": style,
        "script": script,
        "body": filled(_asset(f"{name}.html"), {"findings": findings_part()}),
        "data": content,
        "data_id": hashlib.sha256(content.encode()).hexdigest()[:16],
    }
    return filled(_asset("page.html"), slots)


def page_script(name: str) -> str:
    """The script of a page, also for a server's page that shows the same things."""
    return "\n".join(['"use strict";', *map(_asset, _SCRIPTS[name])])


def page_style(name: str) -> str:
    """The style of a page."""
    return "\n".join(map(_asset, _STYLES[name]))


def findings_part() -> str:
    """The HTML of a report in which the script shows findings."""
    return _asset("findings.html").rstrip("\n")


def filled(template: str, slots: Mapping[str, str]) -> str:
    """Replace each `{{slot}}` of a template by its value.

    Example:
        >>> filled("<p>{{text}}</p>", {"text": "{{text}}"})
        '<p>{{text}}</p>'
    """
    return _SLOT.sub(lambda match: slots[match[1]], template)


def script_json(data: Any) -> str:  # noqa: ANN401 - whatever JSON can hold
    r"""Data as JSON that can stand in a script element.

    Raises:
        ValueError: There is a NaN or an infinity in it.

    Example:
        >>> script_json({"a": "<b>"})
        '{"a":"\\u003cb>"}'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    # Without `<`, nothing in the data can end the script element.
    return text.replace("<", "\\u003c")


@cache
def _asset(name: str) -> str:
    return (_PAGES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _escaped(text: str) -> str:
    # The ampersand first, or that of `&lt;` would be escaped again.
    return text.replace("&", "&amp;").replace("<", "&lt;")
