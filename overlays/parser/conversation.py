"""Chat templates that are not Jinja: what a JSON template file (`--chat-template x.json`) describes.

There are no built-in templates: DeepSeek's tokenizers carry their own Jinja template.
"""

import copy
import dataclasses
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest


class SeparatorStyle(IntEnum):
    """How role, message and separator are put together; each style has upstream's number."""

    ADD_COLON_SINGLE = 1
    NO_COLON_SINGLE = 4
    CHATML = 11
    DEEPSEEK_CHAT = 19


@dataclasses.dataclass
class Conversation:
    """A template together with the messages so far; a message of None is the turn to generate."""

    name: str
    system_template: str = "{system_message}"
    system_message: str = ""
    roles: tuple[str, str] = ("USER", "ASSISTANT")
    messages: list[list[str | None]] = dataclasses.field(default_factory=list)
    sep_style: SeparatorStyle = SeparatorStyle.ADD_COLON_SINGLE
    sep: str = "\n"
    sep2: str | None = None
    stop_str: str | list[str] | None = None
    # Always empty: the distribution serves text. The chat endpoint reads them.
    image_data: list = dataclasses.field(default_factory=list)
    video_data: list = dataclasses.field(default_factory=list)
    audio_data: list = dataclasses.field(default_factory=list)
    modalities: list[str] = dataclasses.field(default_factory=list)

    def get_prompt(self) -> str:
        """The text that the model sees."""
        style = SeparatorStyle(self.sep_style)
        system = self.system_template.format(system_message=self.system_message)
        ends = [self.sep]

        if style == SeparatorStyle.CHATML:
            prompt = f"{system}{self.sep}\n" if system else ""
            between, ends = "\n", [self.sep + "\n"]
        elif style == SeparatorStyle.NO_COLON_SINGLE:
            prompt, between = system, ""
        elif style == SeparatorStyle.DEEPSEEK_CHAT:
            prompt, between = system, ": "
            ends = [self.sep, self.sep if self.sep2 is None else self.sep2]
        else:
            prompt, between = system + self.sep, ": "

        for i, (role, message) in enumerate(self.messages):
            if message:
                prompt += role + between + message + ends[i % len(ends)]
            else:
                prompt += role + between.rstrip(" ")
        return prompt

    def set_system_message(self, system_message: str) -> None:
        """Replace the system message."""
        self.system_message = system_message

    def append_message(self, role: str, message: str | None) -> None:
        """Add a turn; None leaves it open for the model."""
        self.messages.append([role, message])

    def update_last_message(self, message: str) -> None:
        """Fill in the turn that was open."""
        self.messages[-1][1] = message

    def copy(self) -> "Conversation":
        """A conversation that shares nothing with this one."""
        return copy.deepcopy(self)


chat_templates: dict[str, Conversation] = {}


def register_conv_template(template: Conversation, override: bool = False) -> None:
    """Make a template available by its name."""
    if not override and template.name in chat_templates:
        raise ValueError(f"{template.name} has been registered.")
    chat_templates[template.name] = template


def chat_template_exists(template_name: str) -> bool:
    """Whether a template of this name is registered."""
    return template_name in chat_templates


def get_conv_template_by_model_path(model_path: str) -> str | None:
    """No template: DeepSeek's come with the tokenizer, not with the path."""
    return None


def generate_chat_conv(request: "ChatCompletionRequest", template_name: str) -> Conversation:
    """The conversation of a chat request, with an open turn for the model.

    Raises ValueError for a role, or for content, that a text template cannot hold.
    """
    if isinstance(request.messages, str):
        raise ValueError("The messages should be a list of dict.")

    conv = chat_templates[template_name].copy()
    for message in request.messages:
        if message.role == "system":
            conv.set_system_message(_only_text(message.content, "The system message"))
        elif message.role == "user":
            conv.append_message(conv.roles[0], _joined_text(message.content))
        elif message.role == "assistant":
            text = _only_text(message.content, "The assistant's response")
            conv.append_message(conv.roles[1], text)
        else:
            raise ValueError(f"Unknown role: {message.role}")
    conv.append_message(conv.roles[1], None)
    return conv


def generate_embedding_convs(
    texts: list[str], images: list, videos: list, template_name: str
) -> list[Conversation]:
    """One conversation a text. Raises ValueError for images and videos."""
    convs = []
    for text, image, video in zip(texts, images, videos, strict=True):
        if image is not None or video is not None:
            raise ValueError("Images and videos are not supported.")
        conv = chat_templates[template_name].copy()
        conv.append_message(conv.roles[0], text or "")
        conv.append_message(conv.roles[1], None)
        convs.append(conv)
    return convs


def _only_text(content, whose: str) -> str:
    """The text of a message that must be one text."""
    if content is None or isinstance(content, str):
        return content or ""
    if len(content) != 1 or getattr(content[0], "type", None) != "text":
        raise ValueError(f"{whose} should be a single text.")
    return content[0].text


def _joined_text(content) -> str:
    """The text of a message that may come in parts."""
    if content is None or isinstance(content, str):
        return content or ""
    for part in content:
        if part.type != "text":
            raise ValueError(f"Content of type {part.type} is not supported.")
    return "".join(part.text for part in content)
