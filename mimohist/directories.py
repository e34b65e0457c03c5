r"""Directories as sessions name them, of this machine or of one with drive letters.

On Windows one directory is written in several ways (`C:\x`, `c:/X/`); elsewhere case and
backslashes tell directories apart, so what begins with no drive is compared as it is.
"""

from __future__ import annotations

import os
import re

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def has_drive(path: str) -> bool:
    """Whether a path is one of Windows."""
    return _DRIVE.match(path) is not None


def key(path: str) -> str:
    """Give what all ways to write one directory share."""
    return path.replace("/", "\\").rstrip("\\").lower() if has_drive(path) else path


def below(path: str, directory: str) -> bool:
    """Whether `path` is `directory` or lies in it; nothing lies in "" and the root."""
    if not path or path == "/":
        return False
    sign = "\\" if has_drive(directory) else "/"
    inner, outer = key(path), key(directory).rstrip(sign)
    return inner == outer or inner.startswith(outer + sign)


def meant(text: str) -> str:
    """Give the directory that a user names, whole: `~`, links and `..` resolved."""
    return text if has_drive(text) else os.path.realpath(os.path.expanduser(text))  # noqa: PTH111
