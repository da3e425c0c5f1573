"""Code completion templates: none. A completion request's prompt is used as it is."""

import dataclasses
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sglang.srt.entrypoints.openai.protocol import CompletionRequest


class FimPosition(Enum):
    """Where the middle token of a fill-in-the-middle prompt stands."""

    MIDDLE = auto()
    END = auto()


@dataclasses.dataclass
class CompletionTemplate:
    """A fill-in-the-middle format."""

    name: str
    fim_begin_token: str
    fim_middle_token: str
    fim_end_token: str
    fim_position: FimPosition


def register_completion_template(template: CompletionTemplate, override: bool = False) -> None:
    """Nothing: no template is ever used."""


def completion_template_exists(template_name: str) -> bool:
    """False: there are no templates."""
    return False


def set_completion_template(template_name: str) -> None:
    """Nothing: there are no templates."""


def is_completion_template_defined() -> bool:
    """False: there are no templates."""
    return False


def generate_completion_prompt_from_request(request: "CompletionRequest") -> str:
    """The request's own prompt."""
    return request.prompt
