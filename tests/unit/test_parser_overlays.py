"""The parser overlays: our own files that take the place of upstream's, tested without upstream."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import sys
import types
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

OVERLAYS = Path(__file__).resolve().parents[2] / "overlays" / "parser"


@dataclasses.dataclass
class ImageData:
    url: str
    detail: str = "auto"
    max_dynamic_patch: int | None = None


def module(name: str, **members: Any) -> ModuleType:
    made = types.ModuleType(name)
    vars(made).update(members)
    return made


def load(name: str) -> ModuleType:
    """The overlay `name`, as a module of its own: nothing is shared between tests."""
    spec = importlib.util.spec_from_file_location(f"overlay_{name}", OVERLAYS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def reasoning() -> ModuleType:
    return load("reasoning_parser")


@pytest.fixture
def conversation() -> ModuleType:
    return load("conversation")


@pytest.fixture
def jinja(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    jinja2 = pytest.importorskip("jinja2")

    def compile_template(source: str) -> Any:
        return jinja2.Environment().from_string(source)

    chat_utils = module("transformers.utils.chat_template_utils", _compile_jinja_template=compile_template)
    for stub in (
        module("transformers", utils=module("transformers.utils", chat_template_utils=chat_utils)),
        module("transformers.utils", chat_template_utils=chat_utils),
        chat_utils,
        module("sglang"),
        module("sglang.srt"),
        module("sglang.srt.utils", ImageData=ImageData),
    ):
        monkeypatch.setitem(sys.modules, stub.__name__, stub)
    return load("jinja_template_utils")


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch, conversation: ModuleType) -> Any:
    def detect(template: str) -> str:
        return "openai" if "for part in message.content" in template else "string"

    for stub in (
        module("sglang"),
        module("sglang.srt"),
        module("sglang.srt.parser"),
        module("sglang.srt.parser.jinja_template_utils", detect_jinja_template_content_format=detect),
    ):
        monkeypatch.setitem(sys.modules, stub.__name__, stub)
    monkeypatch.setitem(sys.modules, "sglang.srt.parser.conversation", conversation)
    return load("template_manager").TemplateManager()


def streamed(parser: Any, chunks: list[str]) -> tuple[str, str]:
    pairs = [parser.parse_stream_chunk(chunk) for chunk in chunks]
    return "".join(r for r, _ in pairs), "".join(n for _, n in pairs)


# ---- reasoning


def test_r1_reasons_from_the_first_token_with_or_without_the_opening_tag(reasoning: ModuleType) -> None:
    for text in ("why</think>42", "<think>why</think>42"):
        assert reasoning.ReasoningParser("deepseek-r1").parse_non_stream(text) == ("why", "42")


def test_r1_reasons_even_when_the_request_does_not_force_it(reasoning: ModuleType) -> None:
    parser = reasoning.ReasoningParser("deepseek-r1", force_reasoning=False)
    assert parser.parse_non_stream("why</think>42") == ("why", "42")


def test_v3_reasons_only_when_asked_or_when_it_opens_the_tag(reasoning: ModuleType) -> None:
    make = reasoning.ReasoningParser
    assert make("deepseek-v3").parse_non_stream("why</think>42") == ("", "why</think>42")
    assert make("deepseek-v3", force_reasoning=True).parse_non_stream("why</think>42") == ("why", "42")
    assert make("deepseek-v3").parse_non_stream("<think>why</think>42") == ("why", "42")


def test_reasoning_that_was_cut_off_is_all_reasoning(reasoning: ModuleType) -> None:
    assert reasoning.ReasoningParser("deepseek-r1").parse_non_stream("<think> why ") == ("why", "")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_stream_splits_at_tags_that_are_their_own_chunks(reasoning: ModuleType, size: int) -> None:
    thought, answer = "step one, step two", "the answer is 42"
    pieces = [thought[i : i + size] for i in range(0, len(thought), size)]
    chunks = ["<think>", *pieces, "</think>", answer]
    assert streamed(reasoning.ReasoningParser("deepseek-v3"), chunks) == (thought, answer)


def test_a_tag_that_arrives_in_pieces_is_put_together(reasoning: ModuleType) -> None:
    chunks = ["<th", "ink>", "why", "</", "thi", "nk>", "42"]
    assert streamed(reasoning.ReasoningParser("deepseek-r1"), chunks) == ("why", "42")


def test_what_only_looked_like_a_tag_is_not_lost(reasoning: ModuleType) -> None:
    assert streamed(reasoning.ReasoningParser("deepseek-v3"), ["<", "b>bold"]) == ("", "<b>bold")
    assert streamed(reasoning.ReasoningParser("deepseek-r1"), ["a ", "<", "b"]) == ("a <b", "")


def test_reasoning_is_held_back_until_it_is_complete_when_it_is_not_streamed(reasoning: ModuleType) -> None:
    parser = reasoning.ReasoningParser("deepseek-r1", stream_reasoning=False)
    assert parser.parse_stream_chunk("why") == ("", "")
    assert parser.parse_stream_chunk(" so") == ("", "")
    assert parser.parse_stream_chunk("</think>42") == ("why so", "42")


def test_the_scheduler_finds_the_end_tag_on_the_detector(reasoning: ModuleType) -> None:
    for kind in reasoning.ReasoningParser.DetectorMap:
        assert reasoning.ReasoningParser(kind).detector.think_end_token == "</think>"


def test_kinds_of_models_are_matched_without_case_and_unknown_ones_refused(reasoning: ModuleType) -> None:
    assert reasoning.ReasoningParser("DeepSeek-R1").detector.stream_reasoning
    with pytest.raises(ValueError, match="Unsupported model type: kimi"):
        reasoning.ReasoningParser("kimi")
    with pytest.raises(ValueError, match="must be specified"):
        reasoning.ReasoningParser(None)


# ---- conversations


def request(*messages: tuple[str, Any]) -> SimpleNamespace:
    return SimpleNamespace(messages=[SimpleNamespace(role=r, content=c) for r, c in messages])


def part(kind: str, text: str = "") -> SimpleNamespace:
    return SimpleNamespace(type=kind, text=text)


CHATML = {
    "name": "mine",
    "system": "<|im_start|>system",
    "user": "<|im_start|>user",
    "assistant": "<|im_start|>assistant",
    "sep_style": "CHATML",
    "sep": "<|im_end|>",
    "stop_str": ["<|im_end|>", "<|im_start|>"],
}


def test_a_separator_style_has_the_number_that_upstream_gives_it(conversation: ModuleType) -> None:
    numbers = {style.name: style.value for style in conversation.SeparatorStyle}
    assert numbers == {"ADD_COLON_SINGLE": 1, "NO_COLON_SINGLE": 4, "CHATML": 11, "DEEPSEEK_CHAT": 19}


@pytest.mark.parametrize(
    ("style", "prompt"),
    [
        ("ADD_COLON_SINGLE", "S\nU: hi\nA: ho\nU:"),
        ("NO_COLON_SINGLE", "SUhi\nAho\nU"),
        ("CHATML", "S\n\nU\nhi\n\nA\nho\n\nU\n"),
        ("DEEPSEEK_CHAT", "SU: hi\nA: ho</s>U:"),
    ],
)
def test_a_prompt_has_the_form_of_its_style(conversation: ModuleType, style: str, prompt: str) -> None:
    made = conversation.Conversation(
        name="x",
        system_message="S",
        roles=("U", "A"),
        sep_style=conversation.SeparatorStyle[style],
        sep2="</s>" if style == "DEEPSEEK_CHAT" else None,
        messages=[["U", "hi"], ["A", "ho"], ["U", None]],
    )
    assert made.get_prompt() == prompt


def test_a_request_becomes_a_conversation_with_an_open_turn(conversation: ModuleType) -> None:
    conversation.register_conv_template(conversation.Conversation("x", roles=("U", "A")))
    asked = request(
        ("system", "be brief"), ("user", [part("text", "a"), part("text", "b")]), ("assistant", "c")
    )
    made = conversation.generate_chat_conv(asked, "x")
    assert made.system_message == "be brief"
    assert made.messages == [["U", "ab"], ["A", "c"], ["A", None]]
    assert not (made.image_data or made.video_data or made.audio_data or made.modalities)
    assert conversation.chat_templates["x"].messages == []


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([("tool", "x")], "Unknown role: tool"),
        ([("user", [part("image_url")])], "type image_url is not supported"),
        ([("system", [part("text", "a"), part("text", "b")])], "system message should be a single text"),
        ([("assistant", [part("image_url")])], "assistant's response should be a single text"),
    ],
)
def test_content_that_a_text_template_cannot_hold_is_refused(
    conversation: ModuleType, messages: list[tuple[str, Any]], error: str
) -> None:
    conversation.register_conv_template(conversation.Conversation("x"))
    with pytest.raises(ValueError, match=error):
        conversation.generate_chat_conv(request(*messages), "x")


def test_embeddings_take_text_and_nothing_else(conversation: ModuleType) -> None:
    conversation.register_conv_template(conversation.Conversation("x", roles=("U", "A")))
    convs = conversation.generate_embedding_convs(["a", "b"], [None, None], [None, None], "x")
    assert [c.messages for c in convs] == [[["U", "a"], ["A", None]], [["U", "b"], ["A", None]]]
    with pytest.raises(ValueError, match="not supported"):
        conversation.generate_embedding_convs(["a"], ["image"], [None], "x")


def test_a_template_is_not_replaced_by_accident(conversation: ModuleType) -> None:
    first = conversation.Conversation("x", sep="1")
    conversation.register_conv_template(first)
    with pytest.raises(ValueError, match="has been registered"):
        conversation.register_conv_template(conversation.Conversation("x", sep="2"))
    conversation.register_conv_template(conversation.Conversation("x", sep="3"), override=True)
    assert conversation.chat_templates["x"].sep == "3"


# ---- code completion


def test_a_completion_prompt_stays_as_it_is() -> None:
    completion = load("code_completion_parser")
    template = completion.CompletionTemplate("t", "b", "m", "e", completion.FimPosition.END)
    completion.register_completion_template(template)
    assert not completion.completion_template_exists("t")
    assert not completion.is_completion_template_defined()
    assert completion.generate_completion_prompt_from_request(SimpleNamespace(prompt="p", suffix="s")) == "p"


# ---- content format


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{% for m in messages %}{{ m['content'] }}{% endfor %}", "string"),
        ("{% for p in message['content'] %}{{ p.text }}{% endfor %}", "openai"),
        ("{% for p in msg.content %}{{ p.text }}{% endfor %}", "openai"),
        ("{% for p in m.content | list %}{{ p.text }}{% endfor %}", "openai"),
        ("{% for p in message.content[1:] %}{{ p.text }}{% endfor %}", "openai"),
        ("{% for p in other.content %}{{ p.text }}{% endfor %}", "string"),
        ("{% for p in message.tool_calls %}{{ p.text }}{% endfor %}", "string"),
        ("no loop, but an image", "openai"),
        ("{% for broken", "string"),
        ("", "string"),
    ],
)
def test_the_content_format_is_what_the_template_loops_over(
    jinja: ModuleType, template: str, expected: str
) -> None:
    assert jinja.detect_jinja_template_content_format(template) == expected


def test_a_string_template_gets_one_text(jinja: ModuleType) -> None:
    content = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}]
    content.append({"type": "text", "text": "b"})
    images: list[Any] = []
    message = {"role": "user", "content": content, "name": None}
    made = jinja.process_content_for_template_format(message, "string", images, [], [], [])
    assert made == {"role": "user", "content": "a b"}
    assert images == []


def test_an_openai_template_gets_parts_and_the_media_go_into_the_lists(jinja: ModuleType) -> None:
    images: list[Any] = []
    videos: list[Any] = []
    sounds: list[Any] = []
    modalities: list[Any] = []
    content = [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": "i", "detail": "low"}, "modalities": "multi"},
        {"type": "video_url", "video_url": {"url": "v", "max_dynamic_patch": 2}},
        {"type": "audio_url", "audio_url": {"url": "s"}},
    ]
    made = jinja.process_content_for_template_format(
        {"role": "user", "content": content}, "openai", images, videos, sounds, modalities
    )
    assert [p["type"] for p in made["content"]] == ["text", "image", "video", "audio"]
    assert images == [ImageData("i", "low")]
    assert videos == [{"url": "v", "max_dynamic_patch": 2}]
    assert sounds == ["s"]
    assert modalities == ["multi"]


def test_an_unknown_content_format_is_refused(jinja: ModuleType) -> None:
    with pytest.raises(ValueError, match="Invalid content format: xml"):
        jinja.process_content_for_template_format({"content": []}, "xml", [], [], [], [])


# ---- template manager


def tokenizer_manager(template: Any = None, **options: Any) -> Any:
    return SimpleNamespace(
        processor=None,
        tokenizer=SimpleNamespace(chat_template=template),
        server_args=SimpleNamespace(**options),
    )


def test_the_tokenizers_own_template_is_the_default(manager: Any) -> None:
    manager.initialize_templates(tokenizer_manager("{{ messages }}"), "deepseek-ai/DeepSeek-R1")
    assert manager.chat_template_name is None
    assert manager.completion_template_name is None
    assert manager.jinja_template_content_format == "string"
    assert not manager.force_reasoning


def test_without_any_template_content_is_a_string(manager: Any) -> None:
    manager.initialize_templates(tokenizer_manager(None), "m")
    assert manager.jinja_template_content_format == "string"


def test_a_named_template_is_chosen_by_the_server_option_else_the_first(manager: Any) -> None:
    named = {"default": "one", "tool_use": "two"}
    server = tokenizer_manager(dict(named))
    manager.initialize_templates(server, "m")
    assert server.tokenizer.chat_template == "one"

    server = tokenizer_manager(dict(named), hf_chat_template_name="tool_use")
    manager.initialize_templates(server, "m")
    assert server.tokenizer.chat_template == "two"

    with pytest.raises(ValueError, match="'rag' not found"):
        manager.initialize_templates(tokenizer_manager(dict(named), hf_chat_template_name="rag"), "m")


def test_a_jinja_file_replaces_the_tokenizers_template(manager: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.jinja"
    path.write_text("<|im_start|>assistant\\n<think>\\n{% for part in message.content %}{% endfor %}\n")
    server = tokenizer_manager("old")
    manager.initialize_templates(server, "m", chat_template=str(path))
    assert server.tokenizer.chat_template.startswith("<|im_start|>assistant\n<think>\n")
    assert manager.jinja_template_content_format == "openai"


def test_a_template_that_opens_the_tag_forces_reasoning(manager: Any) -> None:
    manager.initialize_templates(tokenizer_manager("{{ '<|im_start|>assistant\\n<think>\\n' }}"), "m")
    assert manager.force_reasoning


def test_a_json_file_becomes_a_conversation_template(
    manager: Any, conversation: ModuleType, tmp_path: Path
) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(CHATML))
    manager.initialize_templates(tokenizer_manager(None), "m", chat_template=str(path))
    assert manager.chat_template_name == "mine"
    prompt = conversation.generate_chat_conv(request(("system", "S"), ("user", "hi")), "mine").get_prompt()
    assert prompt == (
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    )


def test_templates_that_do_not_exist_are_refused(manager: Any, tmp_path: Path) -> None:
    server = tokenizer_manager(None)
    with pytest.raises(RuntimeError, match="llama-2 is not a built-in template name"):
        manager.initialize_templates(server, "m", chat_template="llama-2")
    with pytest.raises(RuntimeError, match="not part of this distribution"):
        manager.initialize_templates(server, "m", completion_template="star_coder")
    path = tmp_path / "t.json"
    path.write_text(json.dumps({**CHATML, "sep_style": "LLAMA2"}))
    with pytest.raises(ValueError, match="Unknown separator style: LLAMA2"):
        manager.initialize_templates(server, "m", chat_template=str(path))
