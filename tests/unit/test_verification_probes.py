"""What probes say the same way to every release of upstream, with modules that stand for upstream's."""

import dataclasses
import sys
from types import ModuleType, SimpleNamespace

import pytest

from verification.probes import one_batch, server_args


@dataclasses.dataclass
class Early:
    """As the first pins have it: everything is resolved when it is made."""

    model_path: str
    cuda_graph_max_bs: int = 0
    attention_backend: str | None = None

    def get_attention_backends(self):
        return self.attention_backend, self.attention_backend


class Later:
    """As later releases have it: another name of a field, and a resolution that somebody asks for."""

    def __init__(self, model_path, cuda_graph_max_bs_decode=0, attention_backend=None):
        self.given = {
            "model_path": model_path,
            "cuda_graph_max_bs_decode": cuda_graph_max_bs_decode,
            "prefill_attention_backend": None,
            "decode_attention_backend": "triton",
            "attention_backend": attention_backend,
        }
        self.times = 0

    def resolve_once(self):
        self.times += 1

    def resolved_dict(self):
        return self.given


@pytest.fixture
def upstream(monkeypatch):
    def make(**modules):
        for name, members in modules.items():
            module = ModuleType(name.replace("__", "."))
            module.__dict__.update(members)
            module.__spec__ = SimpleNamespace(name=module.__name__)
            module.__path__ = []
            monkeypatch.setitem(sys.modules, module.__name__, module)

    return make


def test_a_field_has_the_name_that_the_release_gives_it(upstream):
    upstream(sglang={}, sglang__srt={}, sglang__srt__server_args={"ServerArgs": Early})
    assert server_args.make({"model_path": "m", "cuda_graph_max_bs": 8}).cuda_graph_max_bs == 8
    upstream(sglang__srt__server_args={"ServerArgs": Later})
    made = server_args.make({"model_path": "m", "cuda_graph_max_bs": 8})
    assert made.given["cuda_graph_max_bs_decode"] == 8
    assert made.times == 1


def test_a_field_that_the_release_lacks_is_no_silent_loss(upstream):
    upstream(sglang={}, sglang__srt={}, sglang__srt__server_args={"ServerArgs": Later})
    with pytest.raises(TypeError, match="dsa_prefill_backend"):
        server_args.make({"model_path": "m", "nsa_prefill_backend": "tilelang"})


def test_the_backends_of_attention_are_asked_or_read():
    assert server_args.attention(Early("m", attention_backend="triton")) == ["triton", "triton"]
    assert server_args.attention(Later("m", attention_backend="flashinfer")) == ["flashinfer", "triton"]
    assert server_args.resolved(Early("m"))["cuda_graph_max_bs"] == 0


def test_a_rank_is_published_where_the_release_asks_for_it(upstream):
    said = []
    context = {
        "SpawnRanks": lambda **given: given,
        "spawn_world_rank": lambda args, tp_rank, pp_rank: 10 * tp_rank + pp_rank,
        "publish": lambda args, **given: said.append((args, given)),
    }
    upstream(sglang={}, sglang__srt={}, sglang__srt__runtime_context=context)
    server_args.publish("args")
    assert said == [("args", {"role": "scheduler", "ranks": {"world_rank": 0, "gpu_id": 0}})]


def test_the_benchmark_is_used_where_it_has_a_runner(upstream):
    upstream(sglang={}, sglang__bench_one_batch={})
    assert one_batch.benchmark() is None
    upstream(sglang__benchmark={}, sglang__benchmark__one_batch={"_TorchBenchRunner": object})
    assert one_batch.benchmark() is sys.modules["sglang.benchmark.one_batch"]
