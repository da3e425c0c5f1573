"""The table of all errors: a code, its exit status, and what the code means.

A `Problem` is one finding for the person who wrote the manifest. Every stage collects all of
its problems and raises them together as one `BuildError`; nothing else leaves the builder.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

OK = 0
GATE_FAILED = 1
USAGE = 2
CHANGES_PENDING = 3
MANIFEST_INVALID = 4
RULE_BROKEN = 5
UPSTREAM_UNAVAILABLE = 6
ENVIRONMENT = 7
INTERNAL = 70
INTERRUPTED = 130

#: code -> (exit status, meaning). `explain CODE` prints the meaning.
CODES: dict[str, tuple[int, str]] = {
    # manifest: how it is written
    "M001": (MANIFEST_INVALID, "The manifest is not valid YAML."),
    "M002": (MANIFEST_INVALID, "A mapping has a duplicate key, or a list the same item twice."),
    "M003": (MANIFEST_INVALID, "Anchors, aliases, merge keys, tags and multiple documents are not allowed."),
    "M004": (MANIFEST_INVALID, "The manifest does not fit its schema."),
    "M005": (MANIFEST_INVALID, "The manifest has a key that the schema does not know."),
    "M006": (MANIFEST_INVALID, "A batch id is used twice, or names no batch."),
    "M007": (MANIFEST_INVALID, "A path or pattern of the manifest is not a plain path inside the tree."),
    "M008": (MANIFEST_INVALID, "A file that the manifest names does not exist or is not a regular file."),
    "M009": (MANIFEST_INVALID, "No batch uses a file in overlays/."),
    "M010": (MANIFEST_INVALID, "The manifest names a pin that it does not define."),
    "M011": (MANIFEST_INVALID, "Two statements of the manifest contradict each other."),
    "M012": (
        MANIFEST_INVALID,
        "The scope or a part of the manifest refers to what the manifest does not state.",
    ),
    "M013": (MANIFEST_INVALID, "A version range is empty, or no pin confirms it."),
    "M014": (MANIFEST_INVALID, "Batches need or follow one another in a circle."),
    "M015": (MANIFEST_INVALID, "A named scope does not exist, changes nothing, or contradicts the manifest."),
    # rules against the upstream tree
    "R001": (RULE_BROKEN, "A pattern matches no path of the upstream tree."),
    "R002": (RULE_BROKEN, "One batch keeps what another batch removes."),
    "R003": (RULE_BROKEN, "No rule decides a path of the upstream tree: it is unclassified."),
    "R004": (RULE_BROKEN, "An edit matches more or fewer places than it states."),
    "R005": (RULE_BROKEN, "The target of an edit does not exist, or a rule removes its file."),
    "R006": (RULE_BROKEN, "The pre-image of an overlay is not the blob that it states."),
    "R007": (RULE_BROKEN, "A patch does not apply exactly."),
    "R008": (RULE_BROKEN, "A use of something declared absent cannot be removed soundly."),
    "R009": (RULE_BROKEN, "A declared fact, option, absent name or model occurs nowhere."),
    "R010": (RULE_BROKEN, "A dynamic import is not declared under roots.dynamic."),
    "R011": (RULE_BROKEN, "A statement matches at a pin outside its version range."),
    "R012": (RULE_BROKEN, "A fact is wrong for a model that stays."),
    # gates on the output
    "G001": (GATE_FAILED, "A file of the output does not parse, or does not compile."),
    "G002": (GATE_FAILED, "An import of the output does not resolve."),
    "G003": (GATE_FAILED, "The output uses an undefined name that upstream defines."),
    "G004": (GATE_FAILED, "The output uses an attribute of something that was removed."),
    "G005": (GATE_FAILED, "A kept file lost a symbol that no rule names."),
    "G006": (GATE_FAILED, "The public surface changed and no rule explains it."),
    "G007": (GATE_FAILED, "A guarantee of the manifest does not hold."),
    "G008": (GATE_FAILED, "Package data or dependencies do not agree with the code."),
    "G009": (GATE_FAILED, "Building the output again changes it."),
    "G010": (GATE_FAILED, "An edited file differs from the same edits applied to its syntax tree."),
    "G011": (GATE_FAILED, "A native binding, its implementation and the build files disagree."),
    "G012": (GATE_FAILED, "A locked pin did not reproduce its digests."),
    "G013": (GATE_FAILED, "The output does not behave as upstream does."),
    "G014": (GATE_FAILED, "A value that a fact states contradicts the code of the output."),
    # lift: what a newer upstream brings
    "L001": (CHANGES_PENDING, "An upstream path that is new since the pin would be in the output."),
    "L002": (CHANGES_PENDING, "A predicate or a choice is new since the pin, and no fact states it."),
    "L003": (CHANGES_PENDING, "A dependency that is new since the pin would be in the output."),
    "L004": (CHANGES_PENDING, "Upstream has changed code since the pin that the manifest replaces."),
    "L005": (USAGE, "There is no such lift or question in progress, or it belongs to another manifest."),
    # upstream
    "U001": (UPSTREAM_UNAVAILABLE, "The upstream commit is unavailable."),
    "U002": (USAGE, "UPSTREAM is not a commit, tag, branch, release or pin."),
    "U003": (UPSTREAM_UNAVAILABLE, "A download does not have the digest that the manifest pins."),
    # the published kernel wheel
    "K001": (UPSTREAM_UNAVAILABLE, "The kernel wheel is unavailable."),
    "K002": (UPSTREAM_UNAVAILABLE, "The kernel wheel has unsafe members, or differs from its RECORD."),
    "K003": (USAGE, "The kernel wheel is not the distribution and version that the output requires."),
    "K004": (RULE_BROKEN, "A rule for the kernel wheel matches none of its members."),
    "K005": (RULE_BROKEN, "A file of the kernel wheel is not the upstream file that the output changes."),
    # environment
    "E001": (ENVIRONMENT, "The output folder holds files that the builder did not write."),
    "E002": (ENVIRONMENT, "The output or the cache cannot be written."),
    "E003": (ENVIRONMENT, "A tool that the builder needs is missing or too old."),
    "E004": (ENVIRONMENT, "Another builder is writing to the same output."),
    "E070": (INTERNAL, "Internal error."),
    "C001": (USAGE, "The command line is invalid."),
    "C002": (USAGE, "A batch that is switched needs others to be switched, too."),
}


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A place in a text file: 1-based line and column; line 0 stands for the whole file."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"

    def seen_from(self, file: str) -> str:
        """This place in words, for a message whose own mark is in `file`."""
        return f"on line {self.line}" if self.file == file else f"in {self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding: a code of `CODES`, one sentence, where, and what to do about it."""

    code: str
    message: str
    mark: Mark | None = None  # in the manifest or an overlay
    upstream: Mark | None = None  # in the upstream tree
    excerpt: str | None = None  # lines of that file, ready to print
    hint: str | None = None  # did-you-mean, or what to do
    nothing: bool = False  # a statement matched nothing, which is a mistake only at some upstreams
    cause: str | None = None  # problems with the same code and cause are shown as one
    also: tuple[Problem, ...] = ()  # the other problems with the same cause
    output: Mark | None = None  # in the output, where upstream has no such line
    overlay: Mark | None = None  # in a file of ours

    @property
    def exit_status(self) -> int:
        return CODES[self.code][0]

    @property
    def place(self) -> Mark | None:
        """The most exact place outside the manifest: in an overlay, in the output, or in upstream."""
        return self.overlay or self.output or self.upstream


def by_cause(problems: Iterable[Problem]) -> list[Problem]:
    """The problems sorted by place, one for each code and cause: the first, with the others under `also`."""
    groups: dict[object, list[Problem]] = {}
    for number, problem in enumerate(sorted(problems, key=_place)):
        key = number if problem.cause is None else (problem.code, problem.cause)
        groups.setdefault(key, []).extend((problem, *problem.also))
    return [
        replace(first, also=tuple(replace(one, also=()) for one in more)) for first, *more in groups.values()
    ]


def _place(problem: Problem) -> tuple[str, Mark, Mark, str]:
    return problem.code, problem.mark or Mark(""), problem.place or Mark(""), problem.message


class BuildError(Exception):
    """One or more problems that stop the build, sorted by place."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(by_cause(problems))
        if not self.problems:
            raise ValueError("BuildError needs at least one problem")
        super().__init__("; ".join(f"{p.code} {p.message}" for p in self.problems[:3]))

    @property
    def exit_status(self) -> int:
        return max((p.exit_status for p in self.problems), key=lambda s: (s == INTERNAL, s))


def fail(code: str, message: str, mark: Mark | None = None, **more: str | Mark | None) -> BuildError:
    """A BuildError of one problem; callers write `raise fail(...)`."""
    return BuildError([Problem(code, message, mark, **more)])  # type: ignore[arg-type]
