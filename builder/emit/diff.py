"""`upstream.diff`: all changes to upstream as one diff that plain `git apply` accepts.

Applied to a checkout of the upstream tree, it gives a tree with the output's id: a proof that needs git
but no trust in this builder. It is complete (full object ids, modes, symlinks, binary files), so a
pre-image that differs by one byte is refused. Removed binary files are named by their full id; git
checks the id and needs no content.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator

from builder.emit.figures import count, is_text
from builder.source.textdiff import hunks
from builder.tree import GITLINK, Entry, Snapshot

_NULL = b"0" * 40
_ESCAPES = {7: b"\\a", 8: b"\\b", 9: b"\\t", 10: b"\\n", 11: b"\\v", 12: b"\\f", 13: b"\\r"}
_ESCAPES |= {34: b'\\"', 92: b"\\\\"}


#: An entry and the bytes that a diff compares.
Side = tuple[Entry, bytes]


def upstream_diff(upstream: Snapshot, output: Snapshot) -> bytes:
    """The diff from upstream to the output, files in order of their names' bytes."""
    before, after = upstream.tree, output.tree
    changed = [p for p in before.keys() | after.keys() if before.get(p) != after.get(p)]
    out: list[bytes] = []
    for raw, path in sorted((path.encode("utf-8", "surrogateescape"), path) for path in changed):
        left, right = _side(upstream, path), _side(output, path)
        if left and right and left[0].mode[:3] != right[0].mode[:3]:
            # git has no edit from a file to a symlink: delete one, create the other
            out += [*_file(raw, left, None), *_file(raw, None, right)]
        else:
            out += _file(raw, left, right)
    return b"".join(out)


def _side(snapshot: Snapshot, path: str) -> Side | None:
    entry = snapshot.tree.get(path)
    if entry is None:
        return None
    submodule = entry.mode == GITLINK
    return entry, b"Subproject commit %s\n" % entry.blob.encode() if submodule else snapshot[path]


def _file(path: bytes, left: Side | None, right: Side | None) -> Iterator[bytes]:
    old_name, new_name = quoted(b"a/" + path), quoted(b"b/" + path)
    yield b"diff --git %s %s\n" % (old_name, new_name)
    modes = tuple(side[0].mode.encode() if side else b"" for side in (left, right))
    if not left or not right:
        yield (b"deleted" if left else b"new") + b" file mode %s\n" % b"".join(modes)
    elif modes[0] != modes[1]:
        yield b"old mode %s\nnew mode %s\n" % modes
    old, new = (side[0].blob.encode() if side else _NULL for side in (left, right))
    if old == new:
        return
    yield b"index %s..%s%s\n" % (old, new, b" " + modes[0] if modes[0] == modes[1] else b"")
    before, after = (side[1] if side else b"" for side in (left, right))
    # git looks at the first bytes only; a patch's reader is safer with a NUL nowhere
    if b"\0" in before or b"\0" in after or not (is_text(before) and is_text(after)):
        yield _binary(after)
        return
    both = left and right
    body = hunks(before, after) if both else _whole(b"+" if right else b"-", before or after)
    if body:
        yield b"--- %s\n+++ %s\n" % (
            _heading(old_name) if left else b"/dev/null",
            _heading(new_name) if right else b"/dev/null",
        )
        yield body


def _heading(name: bytes) -> bytes:
    # as git does: without the tab, some tools end an unquoted name at its first space
    return name + b"\t" if b" " in name and not name.startswith(b'"') else name


def _whole(sign: bytes, text: bytes) -> bytes:
    """The only hunk of an added or removed file; a single `replace`, because there are 20 MB of these."""
    if not text:
        return b""
    lines = count(text)
    span = b"1" if lines == 1 else b"1,%d" % lines
    heading = b"@@ -%s +0,0 @@\n" % span if sign == b"-" else b"@@ -0,0 +%s @@\n" % span
    if text.endswith(b"\n"):
        return heading + sign + text[:-1].replace(b"\n", b"\n" + sign) + b"\n"
    return heading + sign + text.replace(b"\n", b"\n" + sign) + b"\n\\ No newline at end of file\n"


def quoted(name: bytes) -> bytes:
    """A path as git prints it: C-quoted when it has quotes, backslashes, control or non-ASCII bytes."""
    if all(32 <= byte < 127 and byte not in (34, 92) for byte in name):
        return name
    parts = (_ESCAPES.get(byte) or (bytes([byte]) if 32 <= byte < 127 else b"\\%03o" % byte) for byte in name)
    return b'"' + b"".join(parts) + b'"'


def _binary(data: bytes) -> bytes:
    packed = stored_zlib(data)
    lines = [b"GIT binary patch\n", b"literal %d\n" % len(data)]
    for at in range(0, len(packed), 52):
        piece = packed[at : at + 52]
        size = len(piece)
        letter = bytes([size + 64 if size <= 26 else size - 26 + 96])
        lines.append(letter + base64.b85encode(piece, pad=True) + b"\n")
    return b"".join(lines) + b"\n"


def stored_zlib(data: bytes) -> bytes:
    """A zlib stream of stored blocks: the same bytes with every version of zlib."""
    blocks = [data[at : at + 0xFFFF] for at in range(0, len(data), 0xFFFF)] or [b""]
    out = [b"\x78\x01"]
    for number, block in enumerate(blocks, 1):
        size = len(block)
        out.append(bytes([number == len(blocks)]) + size.to_bytes(2, "little"))
        out.append((size ^ 0xFFFF).to_bytes(2, "little") + block)
    out.append(zlib.adler32(data).to_bytes(4, "big"))
    return b"".join(out)
