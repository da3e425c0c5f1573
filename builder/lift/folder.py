"""The folder of a lift, beside the manifest: its report, its proposal, and what was decided so far."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from builder.emit.place import write_whole
from builder.errors import BuildError, Mark, Problem, fail
from builder.lift.overlays import file_diff
from builder.manifest.model import Manifest
from builder.manifest.statements import Patch
from builder.overlay import patch
from builder.spelling import nearest

FOLDER = "lift"
#: What reading and using a file of JSON that anybody may have edited can raise.
_DAMAGED = (OSError, ValueError, KeyError, TypeError, RecursionError)
REPORT, PAGE, DATA, PATCH, DECISIONS = (
    "report.md", "page.md", "report.json", "proposal.patch", "decisions.json"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class State:
    """What is needed to continue a lift."""

    folder: Path
    old: str
    new: str
    digest: str  # of the manifest and its overlays that the proposal is for
    questions: tuple[str, ...]  # the ids of those that are open, and of their parts


def under_way(root: Path) -> list[Path]:
    """The folders of all lifts in progress."""
    return sorted(path.parent for path in (root / FOLDER).glob(f"*/{DATA}"))


def read(folder: Path) -> State:
    """The state of a lift. Raises BuildError L005 when the folder does not hold one."""
    try:
        data = json.loads((folder / DATA).read_bytes())
        open_ones = tuple(one for each in data["questions"] for one in (each["id"], *each["parts"]))
        return State(folder, data["from"]["spec"], data["to"]["spec"], data["manifest"]["digest"], open_ones)
    except _DAMAGED:
        raise fail("L005", f"{folder.name} holds no lift.", hint="start one with `lift UPSTREAM`") from None


def decisions(folder: Path) -> dict[str, str]:
    """The decisions so far, with their reasons; none without such a file. Raises BuildError L005."""
    try:
        rows = json.loads((folder / DECISIONS).read_bytes())
        return {str(row["id"]): str(row["why"]) for row in rows}
    except FileNotFoundError:
        return {}
    except _DAMAGED as error:
        raise fail("L005", f"{DECISIONS} cannot be read: {error}.", Mark(DECISIONS)) from None


def need_questions(state: State, patterns: Collection[str]) -> None:
    """Raises BuildError L005 for patterns that are the id of no open question."""
    known = {*state.questions, *decisions(state.folder)}
    unknown = [one for one in patterns if not any(fnmatchcase(name, one) for name in known)]
    if unknown:
        raise BuildError(
            Problem(
                "L005",
                f"No question of this lift has the id `{one}`.",
                hint=nearest(one, known) or f"{state.folder.name}/{REPORT} lists the questions",
            )
            for one in unknown
        )


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder, each whole or not at all. Raises BuildError E002."""
    for name, data in files.items():
        write_whole(folder / name, data, str(folder / name), make_folder=True)


def append(path: Path, text: str) -> None:
    """Add lines to a file. Raises BuildError E002."""
    with _failing(f"{path} cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(text)


def as_json(data: object) -> bytes:
    return (json.dumps(data, indent=2) + "\n").encode()


def proposal(manifest: Manifest, files: Mapping[str, bytes]) -> bytes:
    """A diff from the manifest and overlays to these files, for `git apply` in the manifest's folder."""
    return file_diff({path: data for path, data in _texts(manifest).items() if path in files}, files)


def accept(root: Path, state: State, manifest: Manifest) -> list[str]:
    """Apply the proposal to the manifest and overlays, and return the paths that changed.

    Raises BuildError: L005 when manifest or overlays have changed since the proposal was made, R007 when it
    was edited and does not apply, E002 when a file cannot be written.
    """
    if manifest.digest != state.digest:
        raise fail(
            "L005",
            "The manifest or an overlay has changed since the proposal was made.",
            hint="run `lift --continue` for a new proposal",
        )
    try:
        source = (state.folder / PATCH).read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise fail("L005", f"{PATCH} cannot be read: {error.strerror or error}.", Mark(PATCH)) from None
    item = Patch(PATCH, "the proposal", "lift", mark=Mark(PATCH))
    done = patch.apply(item, source, _texts(manifest))
    if done.problems:
        raise BuildError(Problem(p.code, p.message, p.mark, hint=p.hint) for p in done.problems)
    write(root, {path: data for path, data in done.files.items() if data is not None})
    return sorted(done.files)


def abort(folder: Path) -> None:
    """Remove the folder of a lift. Raises BuildError E002."""
    with _failing(f"{folder} cannot be removed"):
        shutil.rmtree(folder)
        if not any(folder.parent.iterdir()):
            folder.parent.rmdir()


@contextmanager
def _failing(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise fail("E002", f"{what}: {error.strerror or error}.") from None


def _texts(manifest: Manifest) -> dict[str, bytes]:
    return {**{path: text.encode() for path, text in manifest.texts.items()}, **manifest.overlays}
