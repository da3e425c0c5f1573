"""A sweep: tries one manifest on many upstream commits, or releases, and summarises the results."""

from __future__ import annotations

import gc
import json
import resource
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median_high
from typing import Any

from builder import __version__
from builder.errors import Mark, Problem, fail
from builder.lift.history import Commit
from builder.lift.statements import batch_of, statements, words
from builder.lift.trial import trial
from builder.manifest.model import Manifest
from builder.parallel import Future
from builder.pipeline.ranges import About, about
from builder.pipeline.request_key import own_digest, versions
from builder.pipeline.run import Recalled, digest_of
from builder.upstream.commits import read as read_commit
from builder.upstream.model import Sources, Upstream, snapshot
from builder.upstream.resolve import resolve

BACKENDS = ("loky", "dask", "ray")
#: Both ends of a range begin with it where they are releases of the package index.
INDEX = "pypi:"
_TOGETHER = 12  # commits in one process: neighbouring commits share most of their files


def unit(between: str) -> str:
    """What a range `A..B` consists of: commits, or releases of the package index."""
    return "release" if between.startswith(INDEX) else "commit"


@dataclass(frozen=True, slots=True)
class Wrong:
    """One problem of one commit: its code, and the statement that it is about."""

    code: str
    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class Tried:
    """The result for one commit. `cpu_s` and `wall_s`: processor and wall-clock time in seconds."""

    key: str  # of manifest, builder and tools: a line with another key says nothing about these
    commit: str
    subject: str
    number: int | None
    time: int  # committer time in epoch seconds
    problems: tuple[Wrong, ...]
    cpu_s: float
    wall_s: float

    @property
    def passes(self) -> bool:
        return not self.problems

    def to_line(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker needs; the repository must have the same path on every worker's machine.

    `source`: the repository of the commits, or where to get releases from.
    """

    source: Path | Sources
    manifest: Manifest
    key: str


def key(manifest: Manifest, without: Iterable[str]) -> str:
    """A digest of all that decides a result: manifest, batches that are switched, builder, tools."""
    scope = (manifest.digest, manifest.scope_name, sorted(without), manifest.switched_on)
    return digest_of(__version__, own_digest(), scope, versions())


def try_in_child(job: Job, commits: Sequence[Commit]) -> list[Tried]:
    """Try neighbouring commits in a process of their own, so that what they leave in memory ends with it.

    Nothing is written. Raises BuildError when a commit cannot be read.
    """
    recall = Recalled()
    return Future(lambda: [_attempt(job, commit, recall) for commit in commits]).result()


def _attempt(job: Job, commit: Commit, recall: Recalled) -> Tried:
    started, spent = time.monotonic(), _cpu()
    gc.disable()
    upstream, known = _read(job, commit)
    problems = trial(snapshot(upstream), job.manifest, recall, known).problems
    gc.collect()
    return Tried(
        job.key, commit.id, commit.subject, commit.number, upstream.time, _wrong(problems, job.manifest),
        round(_cpu() - spent, 2), round(time.monotonic() - started, 2),
    )  # fmt: skip


def _read(job: Job, commit: Commit) -> tuple[Upstream, About]:
    """Return a commit or release, and what is known of it."""
    if isinstance(job.source, Sources):
        release = resolve(f"{INDEX}{commit.id}", job.source)
        return release, about(release, job.manifest)
    pinned = any(pin.commit == commit.id for pin in job.manifest.upstream.pins.values())
    upstream = read_commit(job.source, commit.id, job.manifest.upstream.project)
    return upstream, About(unproven=not pinned)


def _cpu() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def releases_between(versions: Iterable[str], start: str, end: str) -> list[Commit]:
    """The releases after `start` up to `end`, oldest first, without pre-releases.

    Raises BuildError U002 when one of the two is no version, or none lies between them.
    """
    from packaging.version import InvalidVersion, Version

    try:
        low, high = Version(start), Version(end)
    except InvalidVersion as error:
        raise fail("U002", f"{error}.", hint="name two releases as pypi:A..B") from None
    wanted = sorted(v for v in map(Version, versions) if low < v <= high and not v.is_prerelease)
    if not wanted:
        raise fail("U002", f"The package index has no release after {start} up to {end}.")
    return [Commit(str(version), f"release {version}") for version in wanted]


def _wrong(problems: Iterable[Problem], manifest: Manifest) -> tuple[Wrong, ...]:
    """The problems, each with the statement that it is about, or else its file or the start of its text."""
    texts = manifest.guarantees.absent_text
    rules: dict[Mark | None, str] = {text.mark: f"guarantee {text.pattern}" for text in texts}
    rules |= {one.mark: f"{batch_of(one)}: {words(one)}" for one in statements(manifest)}
    wrong = []
    for p in problems:
        place = p.upstream.file if p.upstream else p.message.partition(":")[0]
        wrong.append(Wrong(p.code, rules.get(p.mark, place), p.message))
    return tuple(wrong)


def every_nth(commits: Sequence[Commit], every: int) -> list[Commit]:
    """Every n-th commit, counted back from the last one, which is always among them."""
    return list(commits)[::-1][::every][::-1]


def read(path: Path, key: str) -> dict[str, Tried]:
    """The earlier results with this key, by commit; unreadable lines are skipped."""
    tried_by_commit: dict[str, Tried] = {}
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
            tried = Tried(**{**row, "problems": tuple(Wrong(**p) for p in row["problems"])})
        except (ValueError, TypeError, KeyError, RecursionError):
            continue  # the end of a run that was killed
        if tried.key == key:
            tried_by_commit[tried.commit] = tried
    return tried_by_commit


def run(job: Job, commits: Sequence[Commit], jobs: int, backend: str) -> Iterable[list[Tried]]:
    """Try commits, a few at a time, so that what is done is kept when the rest is not.

    Raises BuildError (E003) when the backend is not installed.
    """
    from joblib import Parallel, delayed, parallel_config

    # a release takes minutes, and has little in common with the one before it
    size = 1 if isinstance(job.source, Sources) else min(_TOGETHER, max(1, len(commits) // jobs))
    parts = [commits[start : start + size] for start in range(0, len(commits), size)]
    with _backend(backend), parallel_config(backend=backend, n_jobs=jobs):
        for start in range(0, len(parts), jobs):
            done = Parallel()(delayed(try_in_child)(job, part) for part in parts[start : start + jobs])
            yield [tried for part in done for tried in part]


def _backend(name: str) -> AbstractContextManager[object]:
    """Make a backend known to joblib, and give what it needs while it runs: for dask, the scheduler that its
    own configuration names (DASK_SCHEDULER_ADDRESS), or one on this machine."""
    try:
        if name == "dask":
            import dask.config
            from dask.distributed import Client

            elsewhere = dask.config.get("scheduler-address", None)
            # one commit to a process: what it costs is counted by process
            client: AbstractContextManager[object] = Client() if elsewhere else Client(threads_per_worker=1)
            return client
        if name == "ray":
            from ray.util.joblib import register_ray

            register_ray()
    except ImportError:
        package = "dask[distributed]" if name == "dask" else name
        hint = f"pip install '{package}'"
        raise fail("E003", f"The backend {name} is not installed.", hint=hint) from None
    return nullcontext()


def first_failures(rows: Iterable[Tried]) -> list[tuple[str, str, Tried, int]]:
    """For each rule (code, statement) the first commit on which it failed, and the number of such commits."""
    failures: dict[tuple[str, str], list[Tried]] = {}
    for row in rows:
        for code, rule in sorted({(p.code, p.rule) for p in row.problems}):
            failures.setdefault((code, rule), []).append(row)
    return [(*key, failed[0], len(failed)) for key, failed in failures.items()]


def record(total: int, rows: Sequence[Tried], key: str, spec: str, every: int, digest: str) -> dict[str, Any]:
    """The results as JSON data; `total`: the commits between the two ends, of which `rows` were tried."""
    times = [row.cpu_s for row in rows]
    return {
        "range": spec,
        "every": every,
        "manifest": digest,
        "key": key,
        "commits": total,
        "tried": len(rows),
        "survived": sum(row.passes for row in rows),
        "cpu_s": {"median": median_high(times), "total": round(sum(times), 1)} if times else None,
        "first_failures": [
            {"code": code, "rule": rule, "commit": t.commit, "number": t.number, "commits": count}
            for code, rule, t, count in first_failures(rows)
        ],
    }
