"""The search page's files: its own, and those of the report that it fills."""

from importlib.resources import files

from allusion_es.reports.page import filled, findings_part, page_script, page_style


def page_file(name: str) -> tuple[bytes, str] | None:
    """A file of the page and its media type, or None where there is none of that name.

    Example:
        >>> data, media = page_file("")
        >>> media, b"<form" in data, page_file("../app.py")
        ('text/html', True, None)
    """
    match name:
        case "":
            return filled(_own("search.html"), {"findings": findings_part()}).encode(), "text/html"
        case "search.css":
            return f"{page_style()}\n{_own('search.css')}".encode(), "text/css"
        case "report.js":
            return page_script("report").encode(), "text/javascript"
        case "search.js":
            return _own("search.js").encode(), "text/javascript"
    return None


def _own(name: str) -> str:
    return (files(__package__) / "pages" / name).read_text(encoding="utf-8")
