"""The manifest from its files: `load` reads them, `parse` is the pure rest."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from builder.errors import BuildError, Mark, Problem, fail
from builder.manifest import checks, scope, spans
from builder.manifest.build import build
from builder.manifest.findings import OVERLAYS, Findings
from builder.manifest.model import BASE, Manifest
from builder.manifest.nodes import MAX_BYTES, read
from builder.manifest.schema import nearest, validate

SCHEMA = "schema/manifest.schema.json"
MAX_OVERLAY_BYTES = 16_000_000


def load(path: Path) -> Manifest:
    """The manifest at `path`, with the overlays/ folder beside it.

    Marks name the file by its last component, so that nothing depends on where it lies.
    Raises BuildError with every problem there is.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise fail("M001", f"The manifest cannot be read: {_reason(error)}.", Mark(path.name)) from None
    files, others = read_overlays(path.parent)
    return parse(data, path.name, files, read_schema(path.parent), others)


def parse(
    data: bytes,
    file: str,
    overlays: Mapping[str, bytes],
    schema: Mapping[str, Any],
    others: Mapping[str, str] | None = None,
) -> Manifest:
    """The manifest that `data` states.

    `overlays` maps paths (`overlays/...`) to contents; `others` names what lies there and is not a
    regular file, with what it is. Raises BuildError with every problem there is.
    """
    others = others or {}
    document = read(data, file)
    if document.data is None:
        raise BuildError(document.problems)
    findings = Findings(list(document.problems))
    misfits = validate(document, schema)
    manifest = build(document, findings)
    problems = [*findings.problems, *misfits]
    problems += checks.ids(manifest)
    problems += checks.guaranteed(manifest)
    problems += checks.kernel(manifest)
    problems += scope.check(manifest)
    problems += checks.pins(manifest)
    problems += checks.overlays_named(findings.overlays, overlays, others)
    problems += checks.contradictions(manifest)
    problems += spans.check(manifest)
    if not misfits and not document.unknown:
        # a misspelt key hides the overlay that it names
        problems += checks.overlays_unused(findings.overlays, overlays, others)
    if problems:
        raise BuildError(problems)
    used = {path: overlays[path] for path in sorted({path for path, _ in findings.overlays})}
    text = data.decode("utf-8-sig")
    return replace(manifest, text=text, overlays=used, digest=_digest(data, used))


def switch_off(manifest: Manifest, ids: Iterable[str]) -> Manifest:
    """The manifest without these batches; raises BuildError (M006) for ids that it does not have."""
    wanted = tuple(dict.fromkeys(ids))
    known = [batch.id for batch in manifest.batches if batch.id != BASE]
    problems = []
    for name in wanted:
        if name == BASE:
            message = f"The batch `{BASE}` is the top of the manifest and cannot be switched off."
            problems.append(Problem("M006", message, Mark(manifest.file)))
        elif name not in known:
            message = f"There is no batch `{name}`."
            problems.append(Problem("M006", message, Mark(manifest.file), hint=nearest(name, known)))
    if problems:
        raise BuildError(problems)
    return manifest.without(wanted)


def read_schema(root: Path) -> Mapping[str, Any]:
    """The schema beside the manifest, or else the one of the builder's own checkout."""
    own = Path(__file__).resolve().parents[2]
    for folder in (root, own):
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


def read_overlays(root: Path) -> tuple[dict[str, bytes], dict[str, str]]:
    """The regular files below overlays/, and what lies there that cannot be used, with what it is.

    No link is followed, and nothing but regular files is opened.
    """
    files: dict[str, bytes] = {}
    others: dict[str, str] = {}
    name = OVERLAYS.rstrip("/")
    if (root / name).is_symlink():
        return files, {name: "a symbolic link, not a folder"}
    waiting = [name] if (root / name).is_dir() else []
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(root / folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            others[folder] = f"a folder that cannot be read ({_reason(error)})"
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    waiting.append(path)
                continue
            content = _content(entry)
            if isinstance(content, str):
                others[path] = content
            else:
                files[path] = content
    return dict(sorted(files.items())), dict(sorted(others.items()))


def _content(entry: os.DirEntry[str]) -> bytes | str:
    """The bytes of a regular file, or what it is that has none."""
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode):
            kinds = ((stat.S_ISLNK, "symbolic link"), (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"))
            return f"a {next((what for test, what in kinds if test(mode)), 'device')}, not a regular file"
        # not a link and not a pipe, even if it became one since it was listed
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with os.fdopen(os.open(entry.path, flags), "rb") as stream:
            data = stream.read(MAX_OVERLAY_BYTES + 1)
    except OSError as error:
        return f"a file that cannot be read ({_reason(error)})"
    return data if len(data) <= MAX_OVERLAY_BYTES else f"a file of more than {MAX_OVERLAY_BYTES:,} bytes"


def _digest(data: bytes, overlays: Mapping[str, bytes]) -> str:
    """sha256 over the manifest and its overlays, each as its digest, so that no two inputs run together."""
    total = hashlib.sha256(hashlib.sha256(data).digest())
    for path, content in sorted(overlays.items()):
        name = path.encode("utf-8", "surrogateescape")
        total.update(hashlib.sha256(name).digest() + hashlib.sha256(content).digest())
    return total.hexdigest()


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:1].lower() + error.strerror[1:]
    return str(error)
