"""The check of the extra `serve`, for commands that show a page."""

from allusion_es.core.errors import UsageError


def check_extra() -> None:
    """Check that the packages of the extra `serve` are installed.

    Raises:
        UsageError: One is missing; the message says how to install it.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"the page needs {error.name}; install it with: pip install 'allusion-es[serve]'"
        ) from error
