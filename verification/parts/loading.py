"""Weights from files: whoever reads the same files has the same tensors, of the files that count alone."""

from __future__ import annotations

import inspect
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from verification.parts.drawn import digests
from verification.parts.registry import Found, part
from verification.parts.versions import accepted

_FILES, _TENSORS = 3, 4
_REPOSITORY, _REVISION = "somebody/something", "0123abc"
_NOT_FOR_INFERENCE = ("training_args.bin", "optimizer.bin", "optimizer.pt", "scheduler.pt", "scaler.pt")


def _drawn(number: int) -> dict[str, torch.Tensor]:
    """The tensors of one file; numpy knows their types."""
    draw = torch.Generator().manual_seed(number)
    return {
        f"layers.{number}.{name}": torch.randn(2 + name, 5, generator=draw).to(
            (torch.float32, torch.float16)[name % 2]
        )
        for name in range(_TENSORS)
    }


def _iterators(utils: Any, folder: Path, torches: list[str], safe: list[str]) -> dict[str, Callable[[], Any]]:
    """Every iterator of the tree by its name, and for each switch that it has."""
    made: dict[str, Callable[[], Any]] = {
        "np_cache": lambda: utils.np_cache_weights_iterator("m", str(folder / "locks"), str(folder), torches),
        "np_cache again": lambda: utils.np_cache_weights_iterator(
            "m", str(folder / "locks"), str(folder), torches
        ),
    }
    for prefix in ("", "multi_thread_", "buffered_multi_thread_"):
        for kind, files in (("pt", torches), ("safetensors", safe)):
            read = getattr(utils, f"{prefix}{kind}_weights_iterator", None)
            if read is None:
                continue
            threads = accepted(read, max_workers=2)
            made[f"{prefix}{kind}"] = lambda read=read, files=files, more=threads: read(files, **more)
            if "disable_mmap" in inspect.signature(read).parameters:
                made[f"{prefix}{kind}, unmapped"] = lambda read=read, files=files, more=threads: read(
                    files, disable_mmap=True, **more
                )
    return made


@part("weights-files")
def files() -> Found:
    """Files of torch and of safetensors, by one thread and by several, and by way of numpy."""
    from safetensors.torch import save_file
    from sglang.srt.model_loader import weight_utils

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "locks").mkdir()
        torches, safe, wanted = [], [], {}
        for number in range(_FILES):
            tensors = _drawn(number)
            wanted |= tensors
            torches.append(str(folder / f"{number}.bin"))
            safe.append(str(folder / f"{number}.safetensors"))
            torch.save(tensors, torches[-1])
            save_file(tensors, safe[-1])
        read = {
            name: digests(made()) for name, made in _iterators(weight_utils, folder, torches, safe).items()
        }
    right = digests(wanted.items())
    return Found({f"{name}: all tensors": seen == right for name, seen in read.items()}, {"tensors": right})


@part("weights-convert")
def convert() -> Found:
    """A file of torch becomes one of safetensors; of tensors in the same memory, one is kept."""
    from safetensors.torch import load_file
    from sglang.srt.model_loader.weight_utils import convert_bin_to_safetensor_file

    tensors = _drawn(1)
    first = next(iter(tensors.values()))
    transposed = {"across": torch.arange(12.0).reshape(3, 4).t()}
    with tempfile.TemporaryDirectory() as name:
        before, after = Path(name) / "a.bin", Path(name) / "new" / "a.safetensors"
        torch.save({"state_dict": {**tensors, "same": first, **transposed}}, before)
        convert_bin_to_safetensor_file(str(before), str(after))
        found = load_file(after)
    return Found(
        {"all but the second name": digests(found.items()) == digests({**tensors, **transposed}.items())}
    )


@part("weights-chosen-files")
def chosen() -> Found:
    """Files that an index names, or that a folder has, without those of training or of another form."""
    from sglang.srt.model_loader import weight_utils as utils

    index = "model.safetensors.index.json"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        both = [str(folder / each) for each in ("consolidated.safetensors", "model.safetensors")]
        values = {
            "of two forms": _names(utils.filter_duplicate_safetensors_files(both[::-1], name, index)),
            "of one": _names(utils.filter_duplicate_safetensors_files(both[:1], name, index)),
            "without an index": list(utils._check_index_files_exist(name)),
        }
        (folder / index).write_text(json.dumps({"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}))
        given = [folder / f"{number}.safetensors" for number in range(4)]
        given[1].touch()
        partly = utils._check_index_files_exist(name)
        given[2].touch()
        whole = utils._check_index_files_exist(name)
        named = _names(utils.filter_duplicate_safetensors_files([*map(str, given)], name, index))
        (folder / index).write_text("{}")
        empty = utils._check_index_files_exist(name)
        (folder / index).write_text("no JSON")
        broken = utils._check_index_files_exist(name)
    needed = utils.filter_files_not_needed_for_inference([*_NOT_FOR_INFERENCE, "model.bin"])
    return Found(
        {
            "those of the index": named == ["1.safetensors", "2.safetensors"],
            "a file is missing": partly[0] is False,
            "none is missing": whole[0] is True,
            "only the model": needed == ["model.bin"],
        },
        {**values, "checks": [list(each) for each in (partly, whole, empty, broken)]},
    )


def _names(paths: list[str]) -> list[str]:
    return [Path(path).name for path in paths]


@part("weights-snapshot")
def snapshot() -> Found:
    """The snapshot of a repository in a cache is used where it is whole, and has files of the right form."""
    from sglang.srt.model_loader import weight_utils as utils

    find = utils._find_local_hf_snapshot_dir_unlocked

    with tempfile.TemporaryDirectory() as name:
        repository = Path(name) / f"models--{_REPOSITORY.replace('/', '--')}"
        place = repository / "snapshots" / _REVISION
        place.mkdir(parents=True)
        asked = (_REPOSITORY, name, ["*.safetensors"])
        seen = {"unknown": find(*asked), "a folder": find(name, name, ["*"])}
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text(_REVISION)
        seen["empty"] = find(*asked)
        (place / "1.safetensors").touch()
        seen["whole"] = find(*asked)
        seen["by revision"] = find(*asked, _REVISION)
        seen["another form"] = find(_REPOSITORY, name, ["*.bin"])
        (place / "m.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "2.safetensors"}}))
        seen["one is missing"] = find(*asked)
        told = {key: value is not None and value == str(place) for key, value in seen.items()}
        (place / "2.safetensors").touch()
        downloads = [
            utils.download_weights_from_hf(*asked) == str(place),
            utils.download_weights_from_hf(name, None, ["*"]) == name,
        ]
    return Found({"whole": told["whole"], "no download": downloads}, {"found": told})


@part("weights-drawn")
def dummy() -> Found:
    """Weights without a file: the same in every run, small, and of integers none."""
    from sglang.srt.model_loader.weight_utils import initialize_dummy_weights

    module = torch.nn.Module()
    types = (torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn)
    for number, dtype in enumerate(types):
        module.register_buffer(f"n{number}", torch.ones(6, 4).to(dtype))
    module.register_buffer("counts", torch.arange(5))
    initialize_dummy_weights(module)
    drawn = dict(module.state_dict())
    small = all(float(drawn[f"n{number}"].float().abs().max()) <= 1e-3 for number in range(len(types)))
    return Found(
        {"small": small, "integers stay": drawn["counts"].tolist() == list(range(5))},
        {"weights": digests(drawn.items())},
    )
