"""What a text shows of look-ups, and of the names by which modules are loaded, without parsing it."""

from __future__ import annotations

import re

_PLAIN = rb"(?!\s*\(\s*[^,()\n]+,\s*[\"'][^\"'{}%\n]*[\"']\s*[,)])"
_LOOK_UP = re.compile(
    rb"\b(?:getattr|hasattr|getattr_static|__getattribute__)\b"
    + _PLAIN
    + rb"|\b(?:attrgetter|methodcaller|resolve_name|locate|__globals__|f_globals|f_locals)\b"
    rb"|(?<![\w.])(?:eval|exec)\s*\("
    rb"|\b(?:dir|vars|globals|locals|getmembers(?:_static)?|classify_class_attrs)\b|__dict__|__dir__"
)
#: What shows the name that is looked up in a module, and what is no module: `("module", "name")`,
#: `"module:name"`, `getLogger("module")`.
_SHOWN = re.compile(
    rb"\(\s*[\"'][\w.]+[\"']\s*,\s*[\"'][A-Za-z_]\w*[\"']\s*,?\s*\)"
    rb"|[\"'][\w.]+:[A-Za-z_][\w.]*[\"'](?!\s*[+%.])|\bgetLogger\(\s*[\"'][\w.]+[\"']\s*\)"
)
_MODULE = re.compile(rb"[\"']([A-Za-z_]\w*(?:\.\w+)*)(\.?)[\"':{%]")


def looks_up(data: bytes) -> bool:
    """Return whether something may look up an attribute by a name that the text does not show."""
    return _LOOK_UP.search(data) is not None


def modules_named(data: bytes) -> tuple[frozenset[str], frozenset[str]]:
    """Dotted names that strings consist of, and those with which a string begins that goes on after a dot.

    A string with which the text shows what is looked up in the module is left out.
    """
    whole: set[str] = set()
    begun: set[str] = set()
    for name, dot in _MODULE.findall(_SHOWN.sub(b"", data)):
        (begun if dot else whole).add(name.decode("utf-8", "replace"))
    return frozenset(whole), frozenset(begun)
