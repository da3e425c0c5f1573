"""The names that a Python file defines, by how its lines look: for a list to search."""

from __future__ import annotations

import re

from builder.memo import remembered

#: A line with the line break before it, which is found fast.
_LINE = re.compile(
    rb"\n([ \t]*)(?=[A-Za-z_])"
    rb"(?:(?:async[ \t]+)?(def|class)[ \t]+(\w+)|([A-Za-z_]\w*)\b[ \t]*(?::[ \t]*[^\s=]|=(?=[^=])))"
    rb"|\n(?:if|for|while|with|try)\b"
)
_KEYWORDS = frozenset((b"else", b"try", b"finally", b"except", b"lambda"))
_INDENT = 4


@remembered
def defined_names(data: bytes) -> frozenset[str]:
    """Functions, classes, their methods and fields by qualified name, and constants of the module.

    What looks like code in a text counts too, and a field under another statement than a class does not.
    """
    found: set[str] = set()
    # indentation, qualified name, whether its names are qualified by it
    around: list[tuple[int, str, bool]] = []
    for match in _LINE.finditer(b"\n" + data):
        if match[1] is None:  # another statement of the module ends what was above it
            around.clear()
            continue
        depth = len(match[1].expandtabs(_INDENT))
        while around and around[-1][0] >= depth:
            around.pop()
        outer = around[-1] if around else (-_INDENT, "", True)
        if not outer[2]:
            continue
        name = (match[3] or match[4]).decode("utf-8", "replace")
        name = f"{outer[1]}.{name}" if outer[1] else name
        if match[2]:
            around.append((depth, name, match[2] == b"class"))
        elif depth != outer[0] + _INDENT or match[4] in _KEYWORDS:
            continue
        found.add(name)
    return frozenset(found)
