"""A Python file as bytes and syntax tree together, with byte offsets for every node."""

from __future__ import annotations

import ast
import warnings
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from functools import cached_property
from inspect import cleandoc
from io import BytesIO
from itertools import accumulate
from weakref import WeakValueDictionary

from builder.source.fields import INNER_FIELDS, inner_nodes, nodes

BOM = b"\xef\xbb\xbf"
_SPACE = frozenset([b" ", b"\t", b"\f", b"\r", b"\n", b"\\"])
#: Of how many bytes of source the trees stay that nobody holds. A tree takes some 30 times its source.
MAX_RECENT = 16_000_000


class Module:
    """One parsed file. Offsets are byte offsets into `data`: the text without a byte order mark.

    Raises SyntaxError when the bytes are not Python in UTF-8.
    """

    def __init__(self, path: str, raw: bytes) -> None:
        self.path = path
        self.raw = raw
        self.bom = raw.startswith(BOM)
        self.data = raw.removeprefix(BOM)
        if b"coding" in raw[:2000] and not _in_utf8(raw):
            raise SyntaxError("it is not written in UTF-8")
        self.tree = ast.parse(self.data, filename=path)

    @cached_property
    def starts(self) -> list[int]:
        """Offset of the start of every line, then the length of the file."""
        return line_starts(self.data)

    def line(self, index: int) -> bytes:
        """The bytes of the line at a 0-based index, with its end of line."""
        return self.data[self.starts[index] : self.starts[index + 1]]

    def line_of(self, offset: int) -> int:
        """The 0-based index of the line that holds an offset."""
        return bisect_right(self.starts, offset) - 1

    def newline(self, index: int) -> bytes:
        """How the line at a 0-based index ends, or how others do when it is the last one."""
        for line in (self.line(index), self.line(0)):
            if ending := line[len(line.rstrip(b"\r\n")) :]:
                return ending
        return b"\n"

    def broken(self, low: int, high: int) -> bool:
        """Return whether there is an end of line between two offsets."""
        return self.line_of(low) < min(self.line_of(high), len(self.starts) - 2)

    def line_end(self, offset: int) -> int:
        """The offset of the end of the line that holds an offset, before its line break."""
        index = min(self.line_of(offset), len(self.starts) - 2)
        return self.starts[index] + len(self.line(index).rstrip(b"\r\n"))

    def start(self, node: ast.AST) -> int:
        return self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined, no-any-return]

    def start_with_decorators(self, stmt: ast.stmt) -> int:
        return min(map(self.start, [stmt, *getattr(stmt, "decorator_list", ())]))

    def end(self, node: ast.AST) -> int:
        return self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined, no-any-return]

    def text(self, node: ast.AST) -> str:
        """The source of a node, exactly as written."""
        return self.data[self.start(node) : self.end(node)].decode("utf-8", "surrogateescape")

    @cached_property
    def parents(self) -> dict[ast.AST | None, ast.AST]:
        """The parent of every node but the module."""
        above: dict[ast.AST | None, ast.AST] = {}
        waiting: list[ast.AST] = [self.tree]
        for node in waiting:
            if INNER_FIELDS[node.__class__]:
                below = inner_nodes(node)
                for child in below:
                    above[child] = node
                waiting += below
        return above

    @cached_property
    def string_lines(self) -> frozenset[int]:
        """0-based indices of lines that begin inside a string: their indentation is content."""
        inside: set[int] = set()
        stack: list[ast.AST] = [self.tree]
        while stack:
            node = stack.pop()
            low: int | None = getattr(node, "lineno", None)
            high: int | None = getattr(node, "end_lineno", None)
            if low is not None and low == high and not getattr(node, "decorator_list", None):
                continue  # what lies on one line holds no string of several
            if isinstance(node, (ast.Constant, ast.JoinedStr)):
                if low is not None and high is not None and not _is_number(node):
                    inside.update(range(low, high))
                continue
            stack.extend(inner_nodes(node))
        return frozenset(inside)

    @cached_property
    def docstring_lines(self) -> frozenset[int]:
        """Those string lines that belong to a docstring, or another string that stands for itself.

        What it says does not change when all of it moves together: only where no line hangs out to the left.
        """
        inside: set[int] = set()
        for node in nodes(self.tree):
            if (
                isinstance(node, ast.Expr)
                and node.lineno != node.end_lineno
                and documentation(node) is not None
            ):
                lines = range(node.lineno, node.end_lineno or node.lineno)
                texts = [self.line(line) for line in lines]
                if all(not t.strip() or t[: node.col_offset].isspace() for t in texts):
                    inside.update(lines)
        return frozenset(inside)

    def skip_forward(self, at: int) -> int:
        """The offset of the first byte at or after `at` that is neither space nor comment."""
        data = self.data
        while at < len(data):
            if data[at : at + 1] in _SPACE:
                at += 1
            elif data[at : at + 1] == b"#":
                at = self.line_end(at)
            else:
                break
        return at

    def skip_back(self, at: int, floor: int) -> int:
        """The offset after the last byte before `at` that is neither space nor comment."""
        while at > floor:
            if self.data[at - 1 : at] in _SPACE:
                at -= 1
                continue
            line = self.line_of(at - 1)
            hash_at = self._comment(line)
            if hash_at is not None and floor <= hash_at < at:
                at = hash_at
                continue
            break
        return at

    @cached_property
    def _comments(self) -> dict[int, int]:
        return dict(_comment_starts(self))

    def _comment(self, line: int) -> int | None:
        text = self.line(line)
        hash_at = text.find(b"#")
        if hash_at < 0:
            return None
        quoted = text.find(b"'", 0, hash_at) >= 0 or text.find(b'"', 0, hash_at) >= 0
        if not quoted and line not in self.string_lines:
            return self.starts[line] + hash_at
        return self._comments.get(line)  # the tokenizer is slow: only where a quote makes it doubtful

    def extent(self, node: ast.AST, low: int, high: int) -> tuple[int, int]:
        """The span of an expression with the grouping parentheses around it inside [low, high)."""
        return self.parenthesised(self.start(node), self.end(node), low, high)

    def parenthesised(self, start: int, end: int, low: int, high: int) -> tuple[int, int]:
        """A span with the pairs of parentheses around it inside [low, high)."""
        while True:
            before = self.skip_back(start, low)
            after = self.skip_forward(end)
            if before <= low or after >= high:
                return start, end
            if self.data[before - 1 : before] != b"(" or self.data[after : after + 1] != b")":
                return start, end
            start, end = before - 1, after + 1


def _in_utf8(raw: bytes) -> bool:
    """Return whether no comment names another encoding. Raises SyntaxError for one that does not exist."""
    import tokenize

    return tokenize.detect_encoding(BytesIO(raw).readline)[0] in ("utf-8", "utf-8-sig")


def line_starts(data: bytes) -> list[int]:
    """Offset of the start of every line of a text, then its length."""
    return [0, *accumulate(map(len, data.splitlines(keepends=True)))] if data else [0, 0]


def documentation(stmt: ast.stmt) -> str | None:
    """What a string says that is a statement of its own; its indentation does not count."""
    if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant):
        return cleandoc(stmt.value.value) if isinstance(stmt.value.value, str) else None
    return None


def own_parentheses(module: Module, node: ast.AST) -> bool:
    """Return whether the text of a tuple or generator begins with its own parenthesis."""
    if isinstance(node, ast.Tuple) and node.elts:
        start = module.start(node)
        opens = module.data[start : start + 1] == b"("
        return opens and module.extent(node.elts[0], start - 1, module.end(node))[0] != start
    return isinstance(node, (ast.Tuple, ast.GeneratorExp))


def _comment_starts(module: Module) -> Iterator[tuple[int, int]]:
    """(line, offset) of every comment, found with the tokenizer so that strings do not fool us."""
    import tokenize

    try:
        lines = (module.line(index).rstrip(b"\r\n") + b"\n" for index in range(len(module.starts) - 1))
        for token in tokenize.tokenize(lambda: next(lines, b"")):
            if token.type == tokenize.COMMENT:
                line = token.start[0] - 1
                text = module.line(line).decode("utf-8", "surrogateescape")
                yield (
                    line,
                    module.starts[line] + len(text[: token.start[1]].encode("utf-8", "surrogateescape")),
                )
    except (tokenize.TokenError, SyntaxError, IndentationError):  # pragma: no cover - ast parsed it
        return


def _is_number(node: ast.Constant | ast.JoinedStr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, (str, bytes))


#: Those that somebody holds; without a path, one of those with these bytes.
_HELD: WeakValueDictionary[tuple[bytes, str], Module] = WeakValueDictionary()


class _Recent:
    """The modules that were asked for last: of so many bytes of source."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._modules: OrderedDict[bytes, Module] = OrderedDict()

    def keep(self, module: Module) -> None:
        if module.raw not in self._modules:
            self._left -= len(module.raw)
        self._modules[module.raw] = module
        self._modules.move_to_end(module.raw)
        while self._left < 0:
            self._left += len(self._modules.popitem(last=False)[0])


_RECENT = _Recent(MAX_RECENT)


def parse(raw: bytes, path: str) -> Module:
    """Parse a file; bytes that somebody holds parsed, or asked for lately, are not parsed again.

    Nobody writes to the tree; without a `path` it may be that of any file with these bytes. Raises
    SyntaxError, also for what is no text, or nests too deeply.
    """
    found = _HELD.get((raw, path))
    if found is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # upstream's invalid escapes are not our findings
            try:
                found = _HELD[raw, path] = _HELD[raw, ""] = Module(path, raw)
            except (ValueError, RecursionError, MemoryError) as error:
                raise SyntaxError(str(error) or type(error).__name__) from None
    _RECENT.keep(found)
    return found


def parse_leniently(data: bytes, path: str) -> Module:
    """The parsed file; an empty one if it does not parse."""
    try:
        return parse(data, path)
    except SyntaxError:
        return parse(b"", path)
