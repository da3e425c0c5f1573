"""Text that a regular expression leaves no choice about is not asked of the model: it is written at once."""

from __future__ import annotations

import os
from importlib.util import find_spec, module_from_spec
from types import SimpleNamespace
from typing import Any
from unittest import mock

from verification.parts.registry import Found, part

_PLACE = "sglang.srt.constrained.outlines_jump_forward"
_PATTERNS = (
    r"The answer is [0-9]",
    r"霍格沃茨|霍比特人",
    r"[-+]?[0-9]+[ ]*",
    r"naïve|naïf",
    r"a(bc|bd)e",
    r"yes",
)


def _module() -> Any:
    """The module as it is where answers are kept on disk; they are not kept here."""
    spec = find_spec(_PLACE)
    assert spec is not None and spec.loader is not None
    made = module_from_spec(spec)
    kept = mock.patch("outlines.caching.cache", lambda *args, **kwargs: lambda function: function)
    with kept, mock.patch.dict(os.environ, {"SGLANG_DISABLE_OUTLINES_DISK_CACHE": "false"}):
        spec.loader.exec_module(made)
    return made


def _edges(known: Any) -> list[list[Any]]:
    return [
        [state, edge.symbol, edge.symbol_next_state, edge.byte, edge.byte_next_state]
        for state, edge in sorted(known.state_to_jump_forward.items())
    ]


@part("grammar-jumps")
def jumps() -> Found:
    """The states without a choice, by characters and by bytes, and how far one comes from each."""
    module = _module()
    values: dict[str, Any] = {}
    for pattern in _PATTERNS:
        known = module.OutlinesJumpForwardMap(pattern)
        states = range(max(known.state_to_jump_forward, default=0) + 2)
        values[pattern] = [
            _edges(known),
            [list(known.jump_forward_symbol(state)) for state in states],
            [known.jump_forward_byte(state) for state in states],
            [known.is_jump_forward_symbol_state(state) for state in states],
        ]
    sure = module.OutlinesJumpForwardMap("yes")
    answer = module.OutlinesJumpForwardMap(_PATTERNS[0])
    return Found(
        {
            "all of it": sure.jump_forward_symbol(0)[0] == "yes",
            "to the choice": answer.jump_forward_symbol(0)[0] == "The answer is ",
            "by bytes": bytes(byte for byte, _ in answer.jump_forward_byte(0)) == b"The answer is ",
            "no pattern": module.init_state_to_jump_forward("(") is None,
        },
        values,
    )


@part("grammar-jumps-of-a-request")
def of_a_request() -> Found:
    """A request jumps from its state: bytes that end a character are tokens of their own, text follows."""
    from sglang.srt.constrained.outlines_backend import OutlinesGrammar

    module = _module()
    words = SimpleNamespace(convert_tokens_to_ids=lambda tokens: [f"id of {token}" for token in tokens])
    values: dict[str, Any] = {}
    facts = {"without a map": OutlinesGrammar(None, None).try_jump_forward(words) is None}
    for pattern in _PATTERNS:
        known = module.OutlinesJumpForwardMap(pattern)
        grammar = OutlinesGrammar(None, known)
        seen = []
        for state in range(max(known.state_to_jump_forward, default=0) + 2):
            grammar.state = state
            helper = grammar.try_jump_forward(words)
            if helper is not None:
                text, after = grammar.jump_forward_str_state(helper)
                grammar.jump_and_retokenize([], [], after)
                seen.append([state, list(helper), text, grammar.state])
        values[pattern] = seen
    copy = OutlinesGrammar(None, known).copy()
    facts["a copy begins"] = copy.state == 0 and copy.jump_forward_map is known
    facts["the end of a character"] = any(ids for _, (ids, _), _, _ in values[_PATTERNS[1]])
    facts["the sure text"] = values["yes"][0][2] == "yes"
    return Found(facts, values)
