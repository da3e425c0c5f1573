"""`report.html`: the build as one page that loads nothing.

Template, style, script and d3-hierarchy lie in `assets/`. The data are compressed inside the page.
"""

from __future__ import annotations

import base64
import html
import json
import re
import zlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

NAME = "report.html"
_ASSETS = files("builder.emit") / "assets"


def report_html(data: Mapping[str, Any]) -> bytes:
    """The page; `data` as `pipeline/report_page` makes them. With one zlib, equal data give equal bytes."""
    # ASCII only: a name that is not UTF-8 stays valid JSON, with \udcXX escapes
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    packed = base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii")
    library = _asset("d3-hierarchy/d3-hierarchy.min.js")
    version = json.loads(_asset("d3-hierarchy/SOURCE.json"))["version"]
    parts = {
        "@TITLE@": html.escape(f"{data['name']}: {data['build']['version']}"),
        "@NAME@": html.escape(str(data["name"])),
        "@STYLE@": _asset("report/report.css"),
        "@D3VERSION@": html.escape(version),
        "@D3@": library,
        "@SCRIPT@": _asset("report/report.js"),
        "@DATA@": packed,
    }
    # one pass, so that nothing put in is searched for marks
    page = re.sub("|".join(parts), lambda mark: parts[mark[0]], _asset("report/report.html"))
    return page.encode("utf-8", "backslashreplace")


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text("utf-8")
