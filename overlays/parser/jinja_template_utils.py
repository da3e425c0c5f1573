"""What a Jinja chat template expects of a message's content, and making it so.

`string`: one text (DeepSeek's templates). `openai`: a list of parts, over which the template loops.
"""

import logging

import jinja2
import jinja2.nodes as nodes
import transformers.utils.chat_template_utils as hf_chat_utils
from sglang.srt.utils import ImageData

logger = logging.getLogger(__name__)

# What templates call the message they are at.
_MESSAGE_NAMES = ("message", "msg", "m")
_MEDIA_WORDS = ("image", "audio", "video", "vision")


def detect_jinja_template_content_format(chat_template: str) -> str:
    """`openai` if the template loops over a message's content or speaks of media, else `string`."""
    if any(word in chat_template for word in _MEDIA_WORDS):
        return "openai"
    try:
        environment = hf_chat_utils._compile_jinja_template(chat_template).environment
        loops = environment.parse(chat_template).find_all(nodes.For)
        if any(_is_message_content(loop.iter) for loop in loops):
            return "openai"
    except Exception as e:
        # A template that cannot be read here fails where it is used, with its own message.
        logger.debug(f"Chat template not understood: {e}")
    return "string"


def _is_message_content(node: jinja2.nodes.Node) -> bool:
    """Whether an expression is message.content or message['content'], sliced or filtered or not."""
    while isinstance(node, (nodes.Filter, nodes.Test)) or (
        isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice)
    ):
        node = node.node
    if isinstance(node, nodes.Getattr):
        key = node.attr
    elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        key = node.arg.value
    else:
        return False
    owner = node.node
    return (
        key == "content"
        and isinstance(owner, nodes.Name)
        and owner.ctx == "load"
        and owner.name in _MESSAGE_NAMES
    )


def process_content_for_template_format(
    msg_dict: dict,
    content_format: str,
    image_data: list,
    video_data: list,
    audio_data: list,
    modalities: list,
    use_dpsk_v32_encoding: bool = False,
) -> dict:
    """The message in the template's format, without the keys that are None.

    Media go into the lists and leave a part that names their kind; a `string` template drops them.
    The encoder of DeepSeek-V3.2 (`use_dpsk_v32_encoding`) takes a string and the lists.
    Raises ValueError for another format.
    """
    message = {k: v for k, v in msg_dict.items() if v is not None}
    if not isinstance(msg_dict.get("content"), list):
        return message

    parts = [part for part in msg_dict["content"] if isinstance(part, dict)]
    if content_format == "string" and not use_dpsk_v32_encoding:
        texts = [part["text"] for part in parts if part.get("type") == "text"]
        return {**message, "content": " ".join(texts)}
    if content_format != "openai" and not use_dpsk_v32_encoding:
        raise ValueError(f"Invalid content format: {content_format}")

    lists = {"image_url": image_data, "video_url": video_data, "audio_url": audio_data}
    content = []
    for part in parts:
        kind = part.get("type")
        if kind not in lists:
            content.append(part)
            continue
        lists[kind].append(_medium(kind, part[kind]))
        if kind != "audio_url" and part.get("modalities"):
            modalities.append(part["modalities"])
        content.append({"type": kind.removesuffix("_url")})
    # The content comes last, as templates that print a message expect.
    message.pop("content")
    if use_dpsk_v32_encoding:
        texts = [part["text"] for part in content if part.get("type") == "text"]
        return {**message, "content": " ".join(texts)}
    return {**message, "content": content}


def _medium(kind: str, source: dict):
    """What the server is told about one image, video or audio."""
    patches = source.get("max_dynamic_patch")
    if kind == "image_url":
        return ImageData(
            url=source["url"],
            detail=source.get("detail", "auto"),
            max_dynamic_patch=patches,
        )
    if kind == "video_url" and patches is not None:
        return {"url": source["url"], "max_dynamic_patch": patches}
    return source["url"]
