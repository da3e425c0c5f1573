"""Which chat template the server uses: the tokenizer's own, a Jinja file or a JSON file."""

import json
import logging
import os

from sglang.srt.parser.conversation import (
    Conversation,
    SeparatorStyle,
    chat_template_exists,
    register_conv_template,
)
from sglang.srt.parser.jinja_template_utils import detect_jinja_template_content_format

logger = logging.getLogger(__name__)

# A template that ends the prompt with this makes the model start inside its reasoning.
_FORCED_REASONING = r"<|im_start|>assistant\n<think>\n"


class TemplateManager:
    """The chat template of a server and what is known about it."""

    def __init__(self):
        self._chat_template_name: str | None = None
        self._jinja_template_content_format: str | None = "openai"
        self._force_reasoning: bool = False

    @property
    def chat_template_name(self) -> str | None:
        """The name of a JSON template, or None for a Jinja template."""
        return self._chat_template_name

    @property
    def completion_template_name(self) -> str | None:
        """None: there are no code completion templates."""
        return None

    @property
    def jinja_template_content_format(self) -> str | None:
        """`string` or `openai`: what the Jinja template expects of a message's content."""
        return self._jinja_template_content_format

    @property
    def force_reasoning(self) -> bool:
        """Whether the template makes every answer start with reasoning."""
        return self._force_reasoning

    def initialize_templates(
        self,
        tokenizer_manager,
        model_path: str,
        chat_template: str | None = None,
        completion_template: str | None = None,
    ) -> None:
        """Choose the templates. Raises RuntimeError for one that does not exist."""
        self.load_chat_template(tokenizer_manager, chat_template, model_path)
        if completion_template:
            self.load_completion_template(completion_template)

    def load_chat_template(self, tokenizer_manager, chat_template_arg: str | None, model_path: str) -> None:
        """Use the given template (a name, or a .jinja or .json file), else the tokenizer's own."""
        tokenizer = tokenizer_manager.tokenizer
        if chat_template_arg:
            self._load_explicit_chat_template(tokenizer_manager, chat_template_arg)
        else:
            template = self._resolve_hf_chat_template(tokenizer_manager)
            if template and tokenizer:
                tokenizer.chat_template = template
            self._use_jinja(template)

        if tokenizer:
            template = tokenizer.chat_template
            self._force_reasoning = isinstance(template, str) and _FORCED_REASONING in template

    def load_completion_template(self, completion_template_arg: str) -> None:
        """Raises RuntimeError: there are no code completion templates."""
        raise RuntimeError(
            f"Completion template {completion_template_arg}: code completion templates "
            "are not part of this distribution."
        )

    def _load_explicit_chat_template(self, tokenizer_manager, argument: str) -> None:
        if chat_template_exists(argument):
            self._chat_template_name = argument
        elif not os.path.exists(argument):
            raise RuntimeError(
                f"Chat template {argument} is not a built-in template name "
                "or a valid chat template file path."
            )
        elif argument.endswith(".jinja"):
            self._load_jinja_template(tokenizer_manager, argument)
        else:
            self._load_json_chat_template(argument)

    def _load_jinja_template(self, tokenizer_manager, template_path: str) -> None:
        with open(template_path, encoding="utf-8") as f:
            template = f.read().strip("\n")
        tokenizer_manager.tokenizer.chat_template = template.replace("\\n", "\n")
        self._use_jinja(template)

    def _load_json_chat_template(self, template_path: str) -> None:
        if not template_path.endswith(".json"):
            raise RuntimeError("unrecognized format of chat template file")
        with open(template_path, encoding="utf-8") as f:
            fields = json.load(f)
        if fields["sep_style"] not in SeparatorStyle.__members__:
            raise ValueError(f"Unknown separator style: {fields['sep_style']}")

        register_conv_template(
            Conversation(
                name=fields["name"],
                system_template=fields["system"] + "\n{system_message}",
                system_message=fields.get("system_message", ""),
                roles=(fields["user"], fields["assistant"]),
                sep_style=SeparatorStyle[fields["sep_style"]],
                sep=fields.get("sep", "\n"),
                stop_str=fields["stop_str"],
            ),
            override=True,
        )
        self._chat_template_name = fields["name"]

    def _use_jinja(self, template: str | None) -> None:
        self._chat_template_name = None
        self._jinja_template_content_format = (
            detect_jinja_template_content_format(template) if template else "string"
        )
        logger.info(
            f"Chat template content format: {self._jinja_template_content_format}"
            + ("" if template else " (no template)")
        )

    def _resolve_hf_chat_template(self, tokenizer_manager) -> str | None:
        """The template of the processor, else of the tokenizer."""
        for owner in (
            getattr(tokenizer_manager, "processor", None),
            tokenizer_manager.tokenizer,
        ):
            template = getattr(owner, "chat_template", None)
            if isinstance(template, dict):
                return self._select_named_template(template, tokenizer_manager)
            if template:
                return template
        return None

    def _select_named_template(self, templates: dict[str, str], tokenizer_manager) -> str | None:
        """Of several named templates the one that the server was told to use, else the first."""
        if not templates:
            return None
        # Upstream has this option since 0.5.8.
        name = getattr(tokenizer_manager.server_args, "hf_chat_template_name", None)
        if name is None:
            name = next(iter(templates))
        if name not in templates:
            raise ValueError(f"Specified template '{name}' not found. Available templates: {list(templates)}")
        logger.info(f"Using the chat template named '{name}'")
        return templates[name]
