"""Answers in pieces of random sizes: thoughts, tool calls, and text that only begins like one."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

from verification.parts.events import plain
from verification.parts.registry import Found, part

_WAYS = 25  # of cutting each text
_CITY = '{"city": "Paris", "days": 3}'
_V3 = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{arguments}\n```<｜tool▁call▁end｜>"
_V31 = "<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜>"
_V32 = '<｜DSML｜invoke name="{name}">\n{arguments}\n</｜DSML｜invoke>\n'
_TAGS = (
    '<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>\n'
    '<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>'
)
_BEGIN, _END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
_BEGIN_32, _END_32 = "<｜DSML｜function_calls>\n", "</｜DSML｜function_calls>"


def _texts(form: str, begin: str, end: str, others: tuple[str, ...]) -> Iterator[str]:
    def call(name: str, arguments: str) -> str:
        return form.format(name=name, arguments=arguments)

    one, two = call("weather", _CITY), call("time", '{"zone": "CET"}')
    yield f"Let me look. {begin}{one}{end}"
    yield f"{begin}{one}{two}{end}"
    yield f"Both:\n{begin}{two}\n{one}{end} and more"
    yield f"{begin}{call('unknown', '{}')}{end}"
    yield f"{begin}{call('weather', '{broken')}{end}"
    yield f"{begin}{one}"
    yield f"cut off {begin}{one[: len(one) // 2]}"
    yield f"a < b, <｜ and `x`: no call {end}"
    yield ""
    for arguments in others:
        yield f"{begin}{call('weather', arguments)}{end}"


FORMS = {
    "deepseekv3": (_V3, _BEGIN, _END, ('{"city": {"name": "Lyon"}, "days": [1, 2]}',)),
    "deepseekv31": (_V31, _BEGIN, _END, ('{"city": {"name": "Lyon"}, "days": [1, 2]}',)),
    "deepseekv32": (_V32, _BEGIN_32, _END_32, (_TAGS, _TAGS.replace(">3<", ">three<"), "")),
}
#: Calls as other models write them; each is read by every parser that is not DeepSeek's.
_OTHERS = (
    "Sure. <tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n"
    "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
    "<tool_call>weather<arg_key>city</arg_key><arg_value>Paris</arg_value></tool_call>"
    "<tool_call>time<arg_key>zone</arg_key><arg_value>CET</arg_value></tool_call>",
    "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value></arg_value>\n<arg_key>days</arg_key>\n"
    "<arg_value></arg_value>\n</tool_call>",
    "<tool_call>weather<arg_key>days</arg_key><arg_value></arg_value></tool_call>",
    f"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.weather "
    f"<|constrain|>json<|message|>{_CITY}<|call|>",
    f"<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{_CITY}"
    "<|tool_call_end|><|tool_calls_section_end|>",
    f'<|python_tag|>{{"name": "weather", "parameters": {_CITY}}}',
    f'[TOOL_CALLS] [{{"name": "weather", "arguments": {_CITY}}}, {{"name": "time", "arguments": {{}}}}]',
    f"[TOOL_CALLS]weather[ARGS]{_CITY}",
    '[weather(city="Paris", days=3), time(zone="CET")]',
    f'<tool_call>\n{{"name": "weather", "arguments": {_CITY}}}\n</tool_call>\nand so on',
    "<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>"
    "\n</function>\n</tool_call>",
    '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="weather">'
    '<steptml:parameter name="city">Paris</steptml:parameter></steptml:invoke><｜tool_call_end｜>'
    "<｜tool_calls_end｜>",
    '<minimax:tool_call>\n<invoke name="weather">\n<parameter name="city">Paris</parameter>\n'
    '<parameter name="days">3</parameter>\n</invoke>\n</minimax:tool_call>',
    f'Look.<|action_start|> <|plugin|>\n{{"name": "weather", "parameters": {_CITY}}}<|action_end|>',
    "no call, but [ and < and {",
    "",
)
_THOUGHTS = (
    "<think>First this, then that.</think>The answer is 4.", "none at all", "thoughts</think>done",
    "<think>never ends", "<think></think>", "a < b and <thin air", "<think>one</think>x<think>two</think>y",
    "  <think>\n spaces \n</think>\n out ", "",
)  # fmt: skip


def cut(text: str, draw: random.Random) -> list[str]:
    """A text in pieces. A mark is one token in most ways of cutting, as a model says it."""
    whole = draw.random() < 0.7
    runs = re.split(r"(</?｜[^<>｜]*｜[^<>]*>|</?think>)", text) if whole else [text]
    pieces = []
    for run in runs:
        if whole and run.startswith("<") and run.endswith(">"):
            pieces.append(run)
            continue
        while run:
            size = draw.choice((1, 2, 5, 13, 40))
            pieces.append(run[:size])
            run = run[size:]
    return pieces


def _tools() -> list[Any]:
    from sglang.srt.entrypoints.openai.protocol import Function, Tool

    city = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
    zone = {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}
    given = (("weather", city, False), ("time", zone, True))
    return [
        Tool(type="function", function=Function(name=name, description="d", parameters=schema, strict=strict))
        for name, schema, strict in given
    ]


def _calls(parser: str) -> Found:
    from sglang.srt.function_call.function_call_parser import FunctionCallParser

    values: dict[str, Any] = {}
    for number, text in enumerate(_texts(*FORMS[parser])):
        said, calls = FunctionCallParser(_tools(), parser).parse_non_stream(text)
        made = FunctionCallParser(_tools(), parser)
        values[f"{number}, whole"] = [said, [each.model_dump() for each in calls], made.has_tool_call(text)]
        draw = random.Random(number)
        for way in range(_WAYS):
            stream = FunctionCallParser(_tools(), parser)
            seen = []
            for piece in cut(text, draw):
                normal, found = stream.parse_stream_chunk(piece)
                seen.append([normal, [each.model_dump() for each in found]])
            detector = stream.detector
            kept = [detector.current_tool_id, detector.prev_tool_call_arr, detector.streamed_args_for_tool]
            values[f"{number}, cut {way}"] = [seen, plain(kept), detector._buffer]
    made = FunctionCallParser(_tools(), parser)
    info = made.detector.structure_info()("weather")
    values["structure"] = [info.begin, info.end, info.trigger]
    if hasattr(made, "get_structure_tag"):  # not in later versions
        values["tag"] = str(made.get_structure_tag())
    for choice in ("auto", "required", "none"):
        values[f"constraint, {choice}"] = str(made.get_structure_constraint(choice))
    two = values["1, whole"][1]
    return Found({"both calls": [each["name"] for each in two] == ["weather", "time"]}, values)


@part("stream-tools-others")
def stream_tools_others() -> Found:
    """Every parser of another model's calls, by its name; an error of one is what it gives."""
    from sglang.srt.function_call.function_call_parser import FunctionCallParser

    values: dict[str, Any] = {}
    for parser in sorted(set(FunctionCallParser.ToolCallParserEnum) - set(FORMS)):
        try:
            made = FunctionCallParser(_tools(), parser)
        except ValueError as error:  # it needs more than its name
            values[f"{parser}, alone"] = str(error)
            continue
        for number, text in enumerate(_OTHERS):
            draw = random.Random(number)
            values[f"{parser}, {number}, whole"] = _seen(made.parse_non_stream, [text])
            for way in range(3):
                stream = FunctionCallParser(_tools(), parser)
                values[f"{parser}, {number}, cut {way}"] = _seen(stream.parse_stream_chunk, cut(text, draw))
        for choice in ("auto", "required"):
            try:
                said = str(made.get_structure_constraint(choice))
            except NotImplementedError as error:
                said = str(error)
            values[f"{parser}, constraint, {choice}"] = said
    tried = {name.partition(",")[0] for name in values if not name.endswith(", alone")}
    read = {name.partition(",")[0] for name, seen in values.items() if "'weather'" in str(seen)}
    return Found({"most read a call": 2 * len(read) >= len(tried)}, values)


def _seen(read: Callable[[str], Any], pieces: list[str]) -> list[Any]:
    """What a parser gives for each piece, up to an error of its own."""
    seen: list[Any] = []
    try:
        for piece in pieces:
            normal, found = read(piece)
            seen.append([normal, [_lasting(each.model_dump()) for each in found or ()]])
    except Exception as error:
        seen.append(type(error).__name__)
    return seen


def _lasting(call: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in call.items() if key != "id"}


@part("stream-tools-v3")
def stream_tools_v3() -> Found:
    return _calls("deepseekv3")


@part("stream-tools-v31")
def stream_tools_v31() -> Found:
    return _calls("deepseekv31")


@part("stream-tools-v32")
def stream_tools_v32() -> Found:
    return _calls("deepseekv32")


@part("stream-thoughts")
def stream_thoughts() -> Found:
    """Every kind of thoughts that DeepSeek has, held back or passed on, forced or not."""
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    values: dict[str, Any] = {}
    for kind in ("deepseek-r1", "deepseek-v3"):
        for forced in (None, False, True):
            for passed_on in (False, True):
                for number, text in enumerate(_THOUGHTS):
                    settings = {"model_type": kind, "stream_reasoning": passed_on, "force_reasoning": forced}
                    name = f"{kind}, {forced=}, {passed_on=}, {number}"
                    values[name] = list(ReasoningParser(**settings).parse_non_stream(text))
                    draw = random.Random(number)
                    for way in range(8):
                        stream = ReasoningParser(**settings)
                        pieces = cut(text, draw)
                        values[f"{name}, cut {way}"] = [
                            list(stream.parse_stream_chunk(each)) for each in pieces
                        ]
    first = values["deepseek-r1, forced=None, passed_on=True, 0"]
    known = ["First this, then that.", "The answer is 4."]
    for kind in (None, "", "nobody"):
        try:
            ReasoningParser(model_type=kind)
        except ValueError as error:
            values[f"no kind {kind!r}"] = str(error)
    return Found({"thoughts and answer": first == known}, values)
