"""Find the passages that a Latin text alludes to, and say why.

Example:
    >>> import allusion_es
    >>> allusion_es.__version__.count(".")
    2
"""

from importlib.metadata import version

__version__ = version("allusion-es")
