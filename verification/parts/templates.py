"""Chats that are put together by a template of a JSON file, without Jinja, and tokenizers with a patch."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from verification.parts.registry import Found, part, refused
from verification.parts.versions import first

_TEMPLATE = {
    "name": "of a file", "system": "<s>", "system_message": "Be kind.", "user": "User", "assistant": "Bot",
    "sep": "|", "stop_str": ["User"],
}  # fmt: skip
_STYLES = ("ADD_COLON_SINGLE", "NO_COLON_SINGLE", "CHATML")
_PARTS = [{"type": "text", "text": "How "}, {"type": "text", "text": "are you?"}]
_TALK = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Yes"},
    {"role": "user", "content": _PARTS},
]
#: Where upstream's manager of templates is.
_PLACES = ("sglang.srt.managers.template_manager", "sglang.srt.parser.template_manager")
_SYSTEM = {"role": "system", "content": "Be short."}


def _asked(messages: Any) -> Any:
    from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest

    return ChatCompletionRequest(model="m", messages=messages)


@part("chats-of-a-file")
def of_a_file() -> Found:
    """A template of a file in every style: of a talk with and without a word to the system."""
    from sglang.srt.parser.conversation import chat_templates, generate_chat_conv

    managers = first("TemplateManager", *_PLACES)

    values: dict[str, Any] = {}
    kinds = []
    owner = SimpleNamespace(tokenizer=SimpleNamespace(chat_template=None), processor=None)
    with tempfile.TemporaryDirectory() as name, mock.patch.dict(chat_templates):
        file = Path(name) / "template.json"
        for style in _STYLES:
            file.write_text(json.dumps({**_TEMPLATE, "sep_style": style}))
            manager = managers()
            manager.load_chat_template(owner, str(file), "model")
            kinds.append(manager.chat_template_name)
            for case, talk in (("alone", _TALK), ("told", [_SYSTEM, *_TALK]), ("answered", _TALK[:2])):
                made = generate_chat_conv(_asked(talk), manager.chat_template_name)
                values[f"{style}, {case}"] = [made.get_prompt(), made.stop_str, made.messages]
        again = chat_templates["of a file"].messages
    right = "<s>\nBe kind.|User: Hi|Bot: Yes|User: How are you?|Bot:"
    return Found(
        {
            "by its name": kinds == ["of a file"] * len(_STYLES),
            "the words": values["ADD_COLON_SINGLE, alone"][0] == right,
            "the template is not filled": not again,
        },
        values,
    )  # fmt: skip


@part("chats-of-deepseek")
def of_deepseek() -> Found:
    """DeepSeek's style ends a question in one way and an answer in another."""
    from sglang.srt.parser import conversation

    made = conversation.Conversation(
        name="own", system_message="Be kind. ", roles=("User", "Assistant"), messages=[],
        sep_style=conversation.SeparatorStyle.DEEPSEEK_CHAT, sep="\n\n", sep2="<end>",
    )  # fmt: skip
    for role, text in zip((0, 1, 0, 1), ("Hi", "Yes", "Well?", None), strict=True):
        made.append_message(made.roles[role], text)
    asked = made.get_prompt()
    copy = made.copy()
    copy.update_last_message("No.")
    right = "Be kind. User: Hi\n\nAssistant: Yes<end>User: Well?\n\nAssistant:"
    return Found(
        {
            "asked": asked == right,
            "a copy": made.get_prompt() == right,
            "answered": copy.get_prompt() == f"{right} No.<end>",
        }
    )


def _refused(call: Callable[[], Any]) -> bool:
    return refused(call, ValueError, RuntimeError, AssertionError)


@part("chats-refused")
def no_chats() -> Found:
    """Templates and messages that no chat can be made of."""
    from sglang.srt.parser.conversation import (
        Conversation,
        chat_templates,
        generate_chat_conv,
        register_conv_template,
    )

    managers = first("TemplateManager", *_PLACES)
    owner = SimpleNamespace(tokenizer=SimpleNamespace(chat_template=None), processor=None)
    with tempfile.TemporaryDirectory() as name, mock.patch.dict(chat_templates):
        register_conv_template(Conversation(name="own", messages=[]))
        no_style, no_json = Path(name) / "a.json", Path(name) / "a.text"
        no_style.write_text(json.dumps({**_TEMPLATE, "sep_style": "NOBODY"}))
        no_json.touch()

        def load(file: str) -> bool:
            return _refused(lambda: managers().load_chat_template(owner, file, "model"))

        def chat(messages: Any) -> bool:
            return _refused(lambda: generate_chat_conv(_asked(messages), "own"))

        facts = {
            "no style": load(str(no_style)), "no JSON": load(str(no_json)),
            "no file": load(f"{name}/nothing"), "a text": chat("Hi"),
            "two parts to the system": chat([{"role": "system", "content": _PARTS}]),
            "another role": chat([{"role": "tool", "content": "4", "tool_call_id": "a"}]),
            "the name is taken": _refused(lambda: register_conv_template(Conversation(name="own"))),
        }  # fmt: skip
    return Found(facts)


def _tokenizer() -> Any:
    """A tokenizer as Kimi's is called, that counts how often its special tokens are asked for."""

    def special(self: Any) -> list[str]:
        self.asked += 1
        return ["<a>", "<b>"]

    members = {
        "asked": 0, "__module__": "somewhere.tokenization_kimi",
        "all_special_tokens": property(special),
        "all_special_ids": property(lambda self: [len(special(self))]),
        "add_special_tokens": lambda self, tokens: f"special {tokens}",
        "add_tokens": lambda self, tokens, special_tokens=False: f"{tokens}, {special_tokens=}",
    }  # fmt: skip
    return type("TikTokenTokenizer", (), members)()


@part("tokenizer-patched")
def patched() -> Found:
    """Kimi's tokenizer keeps its special tokens once it is patched, and takes no new ones until it is not."""
    from sglang.srt.environ import envs
    from sglang.srt.utils.patch_tokenizer import patch_tokenizer, unpatch_tokenizer

    made, other = _tokenizer(), SimpleNamespace()
    with envs.SGLANG_PATCH_TOKENIZER.override(False):
        patch_tokenizer(made)
        unpatch_tokenizer(made)
        plain = [made.all_special_tokens, made.all_special_tokens], made.asked
    with envs.SGLANG_PATCH_TOKENIZER.override(True):
        same = (
            patch_tokenizer(made) is made
            and patch_tokenizer(made) is made
            and patch_tokenizer(other) is other
        )
    kept = [[made.all_special_tokens, made.all_special_ids] for _ in range(3)]
    asked = made.asked
    closed = [
        _refused(lambda: made.add_special_tokens(["<c>"])),
        _refused(lambda: made.add_tokens(["<c>"], special_tokens=True)),
    ]
    word = made.add_tokens(["c"])
    unpatch_tokenizer(made)
    after = made.all_special_tokens, made.asked - asked, made.add_tokens(["<c>"], special_tokens=True)
    return Found(
        {
            "not unless wanted": plain[1] == 2, "the same object": same, "asked once": asked == 4,
            "the same tokens": kept == [[["<a>", "<b>"], [2]]] * 3, "no special ones": closed == [True, True],
            "words": word == "['c'], special_tokens=False", "as before": after[:2] == (["<a>", "<b>"], 1),
        },
        {"after": list(after)},
    )  # fmt: skip
