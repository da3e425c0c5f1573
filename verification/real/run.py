"""Both trees with real kernels: `python -m verification.real.run --pack DIR --out DIR --stage NAME...`.

Stages: `engines` (tokens and log-probabilities), `mutants` (edits of ours that engines notice), `server`
(replies over HTTP), `pair` (prefill and decode on two GPUs), `gains` (the time and memory of a start),
`throughput` (of servers that are up), `sizes` (of what is shipped; no GPU is needed), `defaults` (what the
default backends of attention cost), `installed` (both wheels). The evidence of each call is a file of its
own; `verification.page` joins them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from verification import gpu
from verification.evidence import statement
from verification.real import compare, defaults, engines, gains, installed, models, mutants, pair, server
from verification.real.matrix import CONFIGURATIONS, V3, Configuration
from verification.real.place import Place, absent
from verification.results import FAILED, NOT_RUN, Case, Check
from verification.subjects import once

STAGES = ("engines", "server", "pair", "gains", "throughput", "sizes", "defaults", "installed", "mutants")
_MUTATED = ("v3-nextn-triton", "v3-fp8-triton", "v3-256-experts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--pack", type=Path, required=True, help="a folder of verification.pack, with kernels"
    )
    parser.add_argument("--out", type=Path, required=True, help="where the evidence goes")
    parser.add_argument("--work", type=Path, default=Path("/tmp/verification-real"), help="logs and models")
    parser.add_argument(
        "--stage", nargs="+", choices=STAGES, help="by default those that the GPUs and the pack have all for"
    )
    parser.add_argument(
        "--only",
        nargs="*",
        default=(),
        help="configurations in this order, and pairs, whose name starts so; of `defaults` and `mutants` "
        "those with just this name",
    )
    parser.add_argument("--gpus", type=int, help="how many GPUs to use; by default those that there are")
    parser.add_argument("--jobs", type=int, default=6, help="engines at a time, and half as many pairs")
    parser.add_argument(
        "--at-once",
        action="store_true",
        help="a configuration's three engines at a time, and the three servers",
    )
    parser.add_argument("--seconds", type=int, default=540, help="start nothing after this time")
    parser.add_argument("--each", type=int, default=300, help="seconds for one engine, or one chunk")
    parser.add_argument(
        "--transfer", nargs="+", default=["nixl"], help="what carries keys and values between two servers"
    )
    parser.add_argument("--sizes", type=int, default=99, help="of `defaults`, measure so many of each kind")
    parser.add_argument("--times", type=int, default=5, help="measurements of each kind")
    parser.add_argument("--mutants", type=int, default=30, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument(
        "--beside",
        nargs="*",
        default=(),
        help="configurations that try what those of --only do not kill; no mutant is drawn of their lines",
    )
    given = parser.parse_args()
    if given.stage != ["sizes"]:
        gpu.need_torch()
    work = gpu.folder_of(given.pack, given.work)
    work.mkdir(parents=True, exist_ok=True)
    given.out.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + given.seconds
    gpus = given.gpus or len(gpu.visible())
    output, subjects = gpu.opened(given.pack, work / "trees")
    places = [
        Place(
            subject.role, subject.folder, _kernel(given.pack, subject.role, work), work.resolve(),
            _left_out(given.pack, subject.role),
        )
        for subject in subjects
    ]  # fmt: skip
    fitting = [each for each in CONFIGURATIONS if each.gpus <= gpus and each.fits(output.batches)]
    wanted = chosen(fitting, given.only)
    harness = {
        **gpu.harness("verification.real.run", given.pack),
        "absent": " ".join((*absent(), *(f"{p.role}: {name}" for p in places for name in p.left_out))),
        "kernel wheels": json.dumps(_kernels(given.pack)),
    }  # fmt: skip
    machine = {key: value for key, value in harness.items() if key not in ("command", "kernel wheels")}
    machine |= {key: said for key, said in _packed(given.pack)["packs"].items() if "upstream" in key}
    asker = engines.Asker(
        work, given.work / "upstream", json.dumps(machine, sort_keys=True), given.jobs, given.each, deadline
    )
    left_out = {} if given.stage else unfit(gpus, _packed(given.pack)["packs"])
    stages = given.stage or [stage for stage in STAGES if stage not in left_out]
    name = "-".join(["verification", *stages, str(gpus)])

    def keep(checks: Sequence[Check]) -> None:
        """What is known so far: a machine may be taken away."""
        evidence = statement(output, *subjects, checks, left_out, harness, gpu.packages(given.pack))
        (given.out / f"{name}.json").write_bytes(evidence)

    checks: list[Check] = []
    for stage in stages:
        if time.monotonic() > deadline:
            checks.append(Check(stage, (Case(stage, NOT_RUN, ("there was no time left",)),)))
        elif stage == "engines":
            checks.append(engines.check(asker, places, wanted, given.at_once, lambda c: keep([*checks, c])))
        elif stage == "mutants":
            drawn = tuple(given.only or _MUTATED)
            mutated = [each for each in chosen(fitting, (*drawn, *given.beside))
                       if each.name in (*drawn, *given.beside)]  # fmt: skip
            draw = mutants.Draw(given.mutants, given.seed, frozenset(given.beside))
            done = mutants.check(asker, places, mutated, work, draw, lambda c: keep([*checks, c]))
            checks.append(done)
        elif stage == "server":
            checks.append(_server(places, work, deadline, given.at_once))
        elif stage == "pair":
            pairs = [(backend, served) for backend in given.transfer for served in pair.PAIRS]
            pairs = [
                each for each in pairs if not given.only or pair.name(*each).startswith(tuple(given.only))
            ]
            done = _pairs(
                places, work, pairs, max(1, given.jobs // 2), deadline, lambda c: keep([*checks, c])
            )
            checks.append(done)
        elif stage == "defaults":
            measured = defaults.cases(
                places, work, given.only, given.times, given.sizes, given.each, deadline,
                lambda known: keep([*checks, Check("defaults", tuple(known))]),
            )  # fmt: skip
            checks.append(Check(stage, tuple(measured)))
        elif stage == "installed":
            checks.append(_installed(given.pack, work, given.at_once))
        elif stage == "sizes":
            checks.append(Check(stage, tuple(gains.sizes(places, _packed(given.pack).get("sizes", {})))))
        elif stage == "throughput":
            checks.append(_throughput(places, work, given.times, gpus))
        else:
            checks.append(_gains(places, work, given.times, gpus, deadline))
        if not checks[-1].cases and not checks[-1].lines:
            checks[-1] = Check(stage, (Case(stage, NOT_RUN, ("nothing fits what was asked for",)),))
        for case in checks[-1].cases if stage != "engines" else ():
            print(f"{case.verdict:8} {case.name} {' | '.join(case.lines)[:700]}", flush=True)
        keep(checks)
    gpu.end(checks)


def chosen(configurations: Sequence[Configuration], only: Sequence[str]) -> list[Configuration]:
    """Those whose name starts so, in the order of what was asked for; all where nothing was."""
    found = [each for begin in only for each in configurations if each.name.startswith(begin)]
    return list({each.name: each for each in found}.values()) if only else list(configurations)


def unfit(gpus: int, packs: Mapping[str, str]) -> dict[str, str]:
    """The stages that lack something here, and what."""
    found = {"pair": "it takes two GPUs"} if gpus < 2 else {}
    whole = {f"{kind}-{role}" for kind in ("kernel", "wheel") for role in ("upstream", "ours")}
    if not whole <= packs.keys():
        found["installed"] = "the pack was made without --wheels"
    return found


def _kernels(pack: Path) -> dict[str, str]:
    """The kernel wheels by the names and digests that they are published with; what pieces hold is less."""
    said = _packed(pack)
    less = f", its code for {said['card']}" if "card" in said else ""
    return {
        f"{said['packs'][key]}{less}": said["packs"][f"{key} sha256"]
        for key in ("kernel-upstream", "kernel-ours")
        if key in said["packs"]
    }


def _kernel(pack: Path, role: str, work: Path) -> Path | None:
    """The kernel package of a role, from its wheel; ours is upstream's where no other is given."""
    wheel = next(
        (pack / name for name in (f"kernel-{role}.whl", "kernel-upstream.whl") if (pack / name).exists()),
        None,
    )
    if wheel is None:
        return None
    with zipfile.ZipFile(wheel) as packed:
        return once(work / wheel.stem, packed.extractall).resolve()


def _packed(pack: Path) -> dict[str, Any]:
    """What `verification.pack` says of a pack."""
    said: dict[str, Any] = json.loads((pack / "subjects.json").read_text())
    return said


def _left_out(pack: Path, role: str) -> tuple[str, ...]:
    """The extension modules that were left out of a role's kernel wheel: imported, and never called."""
    said = _packed(pack)["packs"].get(f"kernel-{role} without", "")
    parts = [name.split("/") for name in said.split() if name.endswith(".abi3.so")]
    return tuple(f"{package}.{file.partition('.')[0]}" for package, file in (p for p in parts if len(p) == 2))


_WORDS = (
    "--dtype", "bfloat16", "--random-seed", "42",
    "--mem-fraction-static", "0.7", "--max-total-tokens", "65536", "--max-running-requests", "64",
    "--log-level", "warning", "--disable-piecewise-cuda-graph", "--served-model-name", "m",
    "--tool-call-parser", "deepseekv3", "--reasoning-parser", "deepseek-r1",
    "--grammar-backend", "xgrammar", "--cuda-graph-bs", "1", "2", "4", "8", "16", "32", "64",
)  # fmt: skip


_TRITON = ("--attention-backend", "triton", *_WORDS)


def _model(work: Path, architecture: str = V3) -> Path:
    return models.write(architecture, "", work / "models" / architecture).resolve()


def _server(places: Sequence[Place], work: Path, deadline: float, at_once: bool) -> Check:
    """The same corpus against upstream, ours, and upstream again; then upstream's bench_serving as client."""
    benched: dict[str, dict[str, Any]] = {}

    def bench(running: server.Server, model: Path) -> None:
        role = running.place.role
        if role not in benched and time.monotonic() < deadline:
            benched[role] = {}  # upstream's other server is not asked
            benched[role] = server.bench(running, places[0], model, work / f"bench-{role}.jsonl")

    try:
        cases = _replies(places, work, "servers", at_once, bench)
    except (RuntimeError, LookupError) as error:
        return Check("server", (), tuple(str(error).splitlines()))
    cases.append(compare.benched([benched[place.role] for place in places if place.role in benched]))
    return Check("server", tuple(cases))


def _replies(
    places: Sequence[Place], work: Path, logs: str, at_once: bool,
    meanwhile: Callable[[server.Server, Path], None] = lambda running, model: None,
) -> list[Case]:  # fmt: skip
    """Ours is compared with what upstream says twice. Raises RuntimeError for a server that ends."""
    upstream, ours = places
    model = _model(work)

    def told(place: Place, again: str = "") -> dict[str, Any]:
        with server.running(place, model, _TRITON, work / logs / f"{place.role}{again}.txt") as running:
            said = server.answers(running)
            meanwhile(running, model)
            return said

    with ThreadPoolExecutor(3 if at_once else 1) as pool:
        turns = [
            pool.submit(told, *turn) for turn in ((upstream,), (ours,), (upstream, "-again"))
        ]  # fmt: skip
        first, mine, second = (turn.result() for turn in turns)
    return compare.replies(first, second, mine)


def _installed(pack: Path, work: Path, at_once: bool = False) -> Check:
    """Both wheels in environments of their own: what they require and lack, and what their servers reply."""
    try:
        upstream, ours = (installed.place(pack, role, work) for role in ("upstream", "ours"))
    except (KeyError, OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None) or f"the pack has no such wheel: {error}"
        return Check("installed", (Case("installed", NOT_RUN, tuple(said.splitlines()[-4:])),))
    cases = [installed.requirements(installed.unmet(upstream), installed.unmet(ours))]
    try:
        cases += _replies((upstream, ours), work, "installed", at_once)
    except (RuntimeError, LookupError) as error:
        lines = tuple(str(error).splitlines())
        declined = lines[0].startswith("the server of upstream") and getattr(error, "refused", False)
        verdict = NOT_RUN if declined else FAILED
        cases.append(Case("installed, server", verdict, lines))
    return Check("installed", tuple(cases))


def _pairs(
    places: Sequence[Place], work: Path, asked: Sequence[tuple[str, pair.Pair]], jobs: int, deadline: float,
    keep: Callable[[Check], None],
) -> Check:  # fmt: skip
    models_of = {served.architecture: _model(work, served.architecture) for _, served in asked}
    cases = pair.cases(
        places, asked, models_of, _WORDS, work / "servers", jobs, deadline,
        lambda known: keep(Check("pair", tuple(known))),
    )  # fmt: skip
    return Check("pair", tuple(cases))


def _gains(places: Sequence[Place], work: Path, times: int, gpus: int, deadline: float) -> Check:
    try:
        cases = gains.starts(places, _model(work), _TRITON, work, times, gpus, deadline)
    except (RuntimeError, LookupError, subprocess.CalledProcessError) as error:
        return Check("gains", (), tuple(str(error).splitlines()))
    return Check("gains", tuple(cases))


def _throughput(places: Sequence[Place], work: Path, times: int, gpus: int) -> Check:
    try:
        return Check("throughput", tuple(gains.throughput(places, _model(work), _TRITON, work, times, gpus)))
    except (RuntimeError, LookupError) as error:
        return Check("throughput", (), tuple(str(error).splitlines()))


if __name__ == "__main__":
    main()
