"""Messages: the talk of V3.2 as a text and back, and words of a command line from a file."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

from verification.models import configuration
from verification.parts.registry import Found, part

_TOOL = {
    "type": "function",
    "function": {
        "name": "weather", "description": "Is it sunny?",
        "parameters": {
            "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}
        },
    },
}  # fmt: skip
_CALL = {"type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris", "days": 2}'}}
_TALK: tuple[dict[str, Any], ...] = (
    {"role": "system", "content": "Be brief.", "tools": [_TOOL]},
    {"role": "user", "content": "Is it sunny?"},
    {"role": "assistant", "content": "", "reasoning_content": "I ask.", "tool_calls": [_CALL]},
    {"role": "tool", "content": "yes"},
    {"role": "assistant", "content": "It is.", "reasoning_content": "So it is."},
    {"role": "developer", "content": "Now in French.", "tools": [_TOOL]},
    {"role": "user", "content": "And in Rome?"},
)
_MODEL = Path("words")
_ENDS = "<｜end▁of▁sentence｜>"
_SAID = {
    "chat": f"It is.{_ENDS}",
    "thinking": f"So it is.</think>It is.{_ENDS}",
    "call": (
        'I ask.</think>\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="weather">\n'
        '<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="days" string="false">2</｜DSML｜parameter>\n'
        f"</｜DSML｜invoke>\n</｜DSML｜function_calls>{_ENDS}"
    ),
    "cut short": "So it",
}


def _or_its_error(call: Callable[..., Any], *given: Any, **named: Any) -> Any:
    try:
        return call(*given, **named)
    except Exception as error:  # the same refusal is expected of both trees
        return f"{type(error).__name__}: {error}"


@part("messages-of-v32")
def messages() -> Found:
    from sglang.srt.entrypoints.openai.encoding_dsv32 import (
        encode_messages,
        parse_message_from_completion_text,
    )

    texts = {
        f"{mode}, {count} messages, thoughts {'dropped' if drop else 'kept'}": _or_its_error(
            encode_messages, [dict(message) for message in _TALK[:count]], mode, drop_thinking=drop
        )
        for mode, count, drop in product(("chat", "thinking"), range(1, len(_TALK) + 1), (False, True))
    }
    read = {
        f"{name}, {mode}": _or_its_error(parse_message_from_completion_text, text, mode)
        for (name, text), mode in product(_SAID.items(), ("chat", "thinking"))
    }
    called = read["call, thinking"]
    return Found(
        {
            "thoughts": read["thinking, thinking"]["reasoning_content"],
            "answer": read["chat, chat"]["content"],
            "called": called["tool_calls"][0]["function"]["name"],
            "a talk begins with its first message": all(
                texts[f"{mode}, 2 messages, thoughts kept"].startswith(
                    texts[f"{mode}, 1 messages, thoughts kept"]
                )
                for mode in ("chat", "thinking")
            ),
        },
        {"texts": texts, "read": read},
    )


@part("words-from-a-file")
def words() -> Found:
    from sglang.srt.server_args import prepare_server_args

    configuration.write(configuration.configuration("DeepseekV3ForCausalLM"), _MODEL)
    file = Path("server.yaml")
    file.write_text("tp-size: 2\ndisable-radix-cache: true\nmem-fraction-static: 0.5\n")
    given = ["--config", str(file), "--model-path", str(_MODEL), "--device", "cuda", "--mem-fraction-static"]
    found = {}
    with contextlib.suppress(SystemExit):
        made = prepare_server_args([*given, "0.7", "--load-format", "dummy"])
        found = {
            name: getattr(made, name) for name in ("tp_size", "disable_radix_cache", "mem_fraction_static")
        }
    others = {
        name: _or_its_error(_from_text, text)
        for name, text in {"a list": "- 1\n", "no YAML": "a: [\n", "unknown": "no-such-option: 1\n"}.items()
    }
    return Found(
        {"of the file": found["tp_size"], "a word comes before the file": found["mem_fraction_static"]},
        {"found": found, "others": {name: str(said).split(":")[0] for name, said in others.items()}},
    )


def _from_text(text: str) -> Any:
    from sglang.srt.server_args import prepare_server_args

    file = Path("other.yaml")
    file.write_text(text)
    try:
        return type(prepare_server_args(["--config", str(file), "--model-path", str(_MODEL)])).__name__
    except SystemExit as end:
        return f"exit {end.code}"
