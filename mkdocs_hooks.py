"""What the site does with pages that are written to be read in the repository, too."""

from __future__ import annotations

import posixpath
import re
from typing import Any

_LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page without links that leave docs/: a file of the repository is no page of the site."""
    folder = posixpath.dirname(page.file.src_uri)

    def replaced(match: re.Match[str]) -> str:
        text, target = match[1], match[2]
        if "://" in target or not posixpath.normpath(posixpath.join(folder, target)).startswith("../"):
            return match[0]
        return text

    return _LINK.sub(replaced, markdown)
