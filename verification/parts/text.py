"""Text: the tokenizer, the chat template, thoughts and tool calls of DeepSeek's answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from verification.models import configuration, tokenizer
from verification.parts.registry import Found, part

_SAMPLES = (
    "Hello, world",
    "  naïve café — 你好 \n\t",
    f"{tokenizer.USER}why?{tokenizer.ASSISTANT}<think>",
    "",
)
_CALL = (
    "Let me look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{head}{name}{middle}{arguments}{tail}"
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
)
_CITY = '{"city": "Paris"}'
_ANSWERS = {
    "deepseekv3": _CALL.format(
        head="function<｜tool▁sep｜>",
        name="weather",
        middle="\n```json\n",
        arguments=_CITY,
        tail="\n```",
    ),
    "deepseekv31": _CALL.format(head="", name="weather", middle="<｜tool▁sep｜>", arguments=_CITY, tail=""),
    "deepseekv32": (
        'Let me look.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="weather">\n'
        '<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>"
    ),
}
_THOUGHTS = (
    "<think>First this, then that.</think>The answer is 4.", "no thoughts at all",
    "thoughts first</think>done", "<think>never ends", "<think></think>", "a < b and <thin air",
)  # fmt: skip


def _pieces(text: str, size: int = 5) -> Iterator[str]:
    """As a model says it: a mark is one token, the rest comes in small pieces."""
    for run in re.split(r"(<｜[^<>]*｜>|</?think>)", text):
        whole = run.startswith("<") and run.endswith(">")
        yield from [run] if whole else (run[start : start + size] for start in range(0, len(run), size))


@part("tokenizer")
def tokens() -> Found:
    from sglang.srt.utils.hf_transformers_utils import get_tokenizer

    folder = Path("tokenizer")
    configuration.write(configuration.configuration("DeepseekV3ForCausalLM"), folder)
    tokenizer.write(folder)
    made = get_tokenizer(str(folder), trust_remote_code=True)
    encoded = {text: made.encode(text) for text in _SAMPLES}
    talk = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yes"},
        {"role": "user", "content": "?"},
    ]
    chat = made.apply_chat_template(talk, tokenize=True, add_generation_prompt=True, return_dict=False)
    return Found(
        {
            "what is encoded is decoded": all(made.decode(ids) == text for text, ids in encoded.items()),
            "end": made.eos_token_id,
            "size": len(made),
            "begins once": list(chat).count(made.bos_token_id) == 1,
        },
        {
            "ids": list(encoded.values()), "chat": list(chat), "class": type(made).__name__,
            "stops": sorted(getattr(made, "additional_stop_token_ids", ["nobody looked for any"]) or ()),
        },
    )  # fmt: skip


@part("content-format")
def content_format() -> Found:
    """How a chat template wants the content of a message."""
    from sglang.srt.parser.jinja_template_utils import detect_jinja_template_content_format

    templates = ("{{ messages[0]['content'] }}", "{% for c in message['content'] %}{{ c.text }}{% endfor %}")
    found = [detect_jinja_template_content_format(each) for each in templates]
    return Found({"formats": len(found)}, {"formats": found})


def _thoughts(parser: str) -> Found:
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    whole = [list(ReasoningParser(model_type=parser).parse_non_stream(each)) for each in _THOUGHTS]
    streamed = []
    for text in _THOUGHTS:
        stream = ReasoningParser(model_type=parser, stream_reasoning=True)
        said = [stream.parse_stream_chunk(each) for each in _pieces(text)]
        streamed.append([["".join(each[index] or "" for each in said)] for index in (0, 1)])
    return Found({"thoughts": whole[0][0], "answer": whole[0][1]}, {"whole": whole, "streamed": streamed})


@part("thoughts-r1")
def thoughts_r1() -> Found:
    return _thoughts("deepseek-r1")


@part("thoughts-v3")
def thoughts_v3() -> Found:
    return _thoughts("deepseek-v3")


def _called(parser: str) -> Found:
    from sglang.srt.entrypoints.openai.protocol import Function, Tool
    from sglang.srt.function_call.function_call_parser import FunctionCallParser

    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools = [Tool(type="function", function=Function(name="weather", parameters=schema))]
    text, calls = FunctionCallParser(tools, parser).parse_non_stream(_ANSWERS[parser])
    stream = FunctionCallParser(tools, parser)
    said, parts = "", []
    for piece in _pieces(_ANSWERS[parser]):
        normal, found = stream.parse_stream_chunk(piece)
        said += normal
        parts += [each.model_dump() for each in found]
    first: Any = calls[0].model_dump() if calls else {}
    arguments = "".join(each["parameters"] for each in parts)
    return Found(
        {
            "name": first.get("name"), "arguments": json.loads(first.get("parameters") or "null"),
            "streamed arguments": json.loads(arguments or "null"),
        },
        {"text": text, "said": said, "parts": parts, "tag": str(stream.get_structure_constraint("required"))},
    )  # fmt: skip


@part("tools-v3")
def tools_v3() -> Found:
    return _called("deepseekv3")


@part("tools-v31")
def tools_v31() -> Found:
    return _called("deepseekv31")


@part("tools-v32")
def tools_v32() -> Found:
    return _called("deepseekv32")
