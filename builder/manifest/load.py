"""Loads the manifest: `load` reads its files, `parse` is pure."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from builder.adapter import PROGRAM
from builder.errors import BuildError, Mark, fail
from builder.manifest import checks, digests, reading, spans, switches
from builder.manifest.documents import SCHEMA, SCOPE, is_part, read_all
from builder.manifest.model import DEFAULT_SCOPE, Manifest
from builder.manifest.nodes import MAX_BYTES

MAX_OVERLAY_BYTES = 16_000_000


def load_default(path: Path) -> Manifest:
    """Load the manifest at `path` in the default scope, without what other scopes add. Raises BuildError."""
    return switches.choose(load(path), DEFAULT_SCOPE)


def load(path: Path) -> Manifest:
    """Load the manifest at `path`, with overlays/ and docs/scope.yaml beside it, in no scope yet.

    Marks name the file by its last component, so that nothing depends on where it lies.
    Raises BuildError with all problems.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        hint = None
        if isinstance(error, FileNotFoundError):
            hint = (
                "run this in the manifest's folder, or name it: `--manifest FILE`; `init` writes a first one"
            )
        message = f"The manifest cannot be read: {_reason(error)}."
        raise fail("M001", message, Mark(path.name), hint=hint) from None
    files, others = read_overlays(path.parent)
    scope = read_scope(path.parent)
    if isinstance(scope, str):
        others, scope = {**others, SCOPE: scope}, None
    return parse(data, path.name, files, read_schema(path.parent), others, scope)


def parse(
    data: bytes,
    file: str,
    overlays: Mapping[str, bytes],
    schema: Mapping[str, Any],
    others: Mapping[str, str] | None = None,
    scope: bytes | None = None,
) -> Manifest:
    """Parse the manifest in `data` with its parts.

    `overlays` maps paths (`overlays/...`) to contents, the parts of the manifest among them included;
    `others` maps the other paths there to what they are instead; `scope` is docs/scope.yaml.
    Raises BuildError with all problems.
    """
    others = others or {}
    documents = read_all(data, file, overlays, scope)
    findings = documents.findings
    misfits = list(documents.problems(schema))
    if documents.manifest.data is None:
        raise BuildError([*findings.problems, *misfits])
    manifest = reading.manifest(documents)
    unread = list(checks.parts_read(others))
    read = documents.whole and not unread
    problems = [*findings.problems, *misfits, *unread]
    problems += [problem for file in documents for problem in checks.repeated(file)]
    problems += checks.ids(manifest)
    if read:  # the scope may refer to statements of a part that could not be read
        problems += checks.items(manifest)
    problems += checks.pins(manifest)
    problems += switches.check_scopes(manifest)
    # a misspelt key may name an overlay
    problems += checks.overlays(findings.overlays, overlays, others, whole=not misfits and read)
    problems += checks.contradictions(manifest)
    problems += checks.pruned(manifest)
    problems += spans.check(manifest)
    problems += switches.check(manifest)
    if problems:
        raise BuildError(problems)
    used = {path: overlays[path] for path in sorted({path for path, _ in findings.overlays})}
    parts = {path: overlays[path] for path in overlays if is_part(path)}
    parts |= {SCOPE: scope} if scope is not None else {}
    texts = {path: part.decode("utf-8-sig") for path, part in {file: data, **parts}.items()}

    def digest(scope: str) -> str:
        off = switches.only_elsewhere(manifest, scope)
        return digests.of_statements(documents, used, scope, off)

    return replace(
        manifest,
        texts=texts,
        overlays=used,
        digest=digests.of_files(data, {**used, **parts}),
        statements=digest(DEFAULT_SCOPE),
        scope_statements={name: digest(name) for name in manifest.scopes},
    )


def read_texts(path: Path) -> dict[str, str]:
    """Return the text of each readable file of the manifest, valid or not, for excerpts."""
    files, _ = read_overlays(path.parent)
    parts = {name: data for name, data in files.items() if is_part(name)}
    if isinstance(scope := read_scope(path.parent), bytes):
        parts[SCOPE] = scope
    with contextlib.suppress(OSError):
        parts[path.name] = path.read_bytes() if path.is_file() else b""
    return {name: data.decode("utf-8", "replace") for name, data in parts.items()}


def read_schema(root: Path) -> Mapping[str, Any]:
    """Return the schema beside the manifest, or the one of the builder's own checkout or installation."""
    own = Path(__file__).resolve().parents[2]
    for folder in (root, own, Path(sys.prefix) / "share" / PROGRAM):
        try:
            schema = json.loads((folder / SCHEMA).read_bytes())
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise fail("E003", f"The schema cannot be read: {_reason(error)}.", Mark(SCHEMA)) from None
        if isinstance(schema, dict):
            return schema
        raise fail("E003", "The schema is not a JSON object.", Mark(SCHEMA))
    raise fail("E003", "The schema of the manifest is missing.", Mark(SCHEMA))


def read_scope(root: Path) -> bytes | str | None:
    """Return docs/scope.yaml beside the manifest, or what it is instead of a file; None if it is missing."""
    return _content(root / SCOPE) if os.path.lexists(root / SCOPE) else None


def read_overlays(root: Path) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the regular files below overlays/, and the other paths there with what they are.

    Links are not followed, and only regular files are opened.
    """
    files: dict[str, bytes] = {}
    others: dict[str, str] = {}
    top = root / "overlays"
    if top.is_symlink():
        return files, {top.name: "a symbolic link, not a folder"}

    def unreadable(error: OSError) -> None:
        others[os.path.relpath(error.filename, root)] = f"a folder that cannot be read ({_reason(error)})"

    for folder, folders, names in os.walk(top, onerror=unreadable) if top.is_dir() else ():
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [name for name in folders if name != "__pycache__"]
        for path in (Path(folder, name) for name in (*names, *links)):
            content, name = _content(path), path.relative_to(root).as_posix()
            if isinstance(content, str):
                others[name] = content
            else:
                files[name] = content
    return dict(sorted(files.items())), dict(sorted(others.items()))


def _content(path: Path) -> bytes | str:
    """Return the bytes of a regular file, or a description of what the path is instead."""
    try:
        mode = path.lstat().st_mode
        if not stat.S_ISREG(mode):
            kinds = ((stat.S_ISLNK, "symbolic link"), (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"))
            return f"a {next((what for test, what in kinds if test(mode)), 'device')}, not a regular file"
        # guards against a path that became a link or a pipe since it was listed
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with os.fdopen(os.open(path, flags), "rb") as stream:
            data = stream.read(MAX_OVERLAY_BYTES + 1)
    except OSError as error:
        return f"a file that cannot be read ({_reason(error)})"
    return data if len(data) <= MAX_OVERLAY_BYTES else f"a file of more than {MAX_OVERLAY_BYTES:,} bytes"


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:1].lower() + error.strerror[1:]
    return str(error)
