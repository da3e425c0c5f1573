"""Files that declare an encoding other than UTF-8: edited as UTF-8 text, written back as they were."""

from __future__ import annotations

import ast
import codecs
import re

BOM = b"\xef\xbb\xbf"
#: The comment by which one of the first two lines names the encoding (PEP 263).
_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_NO_CODE = re.compile(rb"[ \t\f]*(?:#|[\r\n]|\Z)")


def declared(raw: bytes) -> str | None:
    """The codec that a file names, when that is another than UTF-8.

    Raises SyntaxError for one that Python does not know.
    """
    cookie = None if raw.startswith(BOM) else _cookie(raw)
    if cookie is None:
        return None
    name = raw[slice(*cookie)].decode("ascii", "replace")
    short = name[:12].lower().replace("_", "-")  # as Python shortens it: Emacs writes `utf-8-unix`
    if short == "utf8" or short == "utf-8" or short.startswith("utf-8-"):
        return None
    if short.startswith(("latin-1-", "iso-8859-1-", "iso-latin-1-")) or short == "iso-latin-1":
        name = "iso-8859-1"
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise SyntaxError(f"unknown encoding: {name}") from None


def decoded(raw: bytes) -> bytes:
    """The same text in UTF-8, and saying so; a file in UTF-8 as it is.

    Raises SyntaxError when the bytes are not what they are said to be.
    """
    codec = declared(raw)
    if codec is None:
        return raw
    try:
        return _renamed(raw.decode(codec).encode(), b"utf-8")
    except (UnicodeError, LookupError, TypeError) as error:
        raise SyntaxError(f"(unicode error) {error}") from None


def readable(raw: bytes) -> bytes:
    """The same text in UTF-8 if it can be read, else the bytes as they are."""
    try:
        return decoded(raw)
    except SyntaxError:
        return raw


def encoded(data: bytes, raw: bytes) -> bytes:
    """UTF-8 text in the encoding of the file that it was made from.

    Raises ValueError when it cannot be written so.
    """
    codec = declared(raw)
    if codec is None:
        return data
    cookie, original = _cookie(data), _cookie(raw)
    assert original is not None
    if cookie is None or data[slice(*cookie)] != b"utf-8":
        raise ValueError(f"the comment that names the encoding {codec} would leave")
    try:
        if raw.decode(codec).encode(codec) != raw:
            raise ValueError(f"{codec} has other bytes for the same text")
        text = _renamed(data, raw[slice(*original)]).decode()
        try:
            return text.encode(codec)
        except UnicodeError:  # what this encoding lacks can be an escape, where it stands in a string
            found = text.encode(codec, "backslashreplace")
    except UnicodeError as error:
        raise ValueError(f"the new text cannot be written in {codec}: {error}") from None
    if not _same(found, data):
        raise ValueError(f"the encoding {codec} lacks a letter of the new text")
    return found


def _same(one: bytes, other: bytes) -> bool:
    """Return whether two texts are the same program."""
    try:
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except SyntaxError:
        return False


def encoding_line(data: bytes) -> int | None:
    """The 0-based index of the line that names the encoding."""
    cookie = _cookie(data)
    return None if cookie is None else len(data[: cookie[0]].splitlines()) - 1


def _cookie(data: bytes) -> tuple[int, int] | None:
    """Where a file names its encoding."""
    head = data[:2000]
    if b"coding" not in head:
        return None
    at = 0
    for line in head.splitlines(True)[:2]:
        found = _COOKIE.match(line)
        if found is not None:
            return at + found.start(1), at + found.end(1)
        if not _NO_CODE.match(line):
            return None
        at += len(line)
    return None


def _renamed(data: bytes, name: bytes) -> bytes:
    """The text with another name for the encoding."""
    cookie = _cookie(data)
    assert cookie is not None
    return data[: cookie[0]] + name + data[cookie[1] :]
