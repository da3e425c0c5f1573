"""What this distribution leaves out, and how to bring it back.

The tables are filled in from the manifest that the distribution was built from. Nothing here is read
unless a choice has failed already.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import NoReturn

DISTRIBUTION = "this distribution"
#: decision (a batch of the manifest) -> why it was taken
DECISIONS: dict[str, str] = {}
#: option of the command line -> decision
FLAGS: dict[str, str] = {}
#: option of the command line -> value -> decision
CHOICES: dict[str, dict[str, str]] = {}
#: architecture -> (its module in sglang.srt.models, decision)
MODELS: dict[str, tuple[str, str]] = {}
#: method and path -> decision
ROUTES: dict[str, str] = {}
#: environment variable -> decision
VARIABLES: dict[str, str] = {}
#: decision -> with or without which options a build undoes it; none for what is left out with no feature
UNDO: dict[str, str] = {}

_CHOICE = re.compile(r"argument (\S+): invalid choice: '([^']*)'")


def explain(kind: str, value: str) -> str | None:
    """Why something was left out and how to bring it back; None for what never existed.

    `kind` is "flag", "model", or an option whose value was chosen: "--quantization".
    """
    if kind == "model":
        if value not in MODELS:
            return None
        module, decision = MODELS[value]
        what = f"The architecture {value}"
        back = f"To bring it back, add `{module}` to roots.models.keep in the manifest and build again."
    else:
        decision = FLAGS.get(value) if kind == "flag" else CHOICES.get(kind, {}).get(value)
        if decision is None:
            return None
        what = f"The option {value}" if kind == "flag" else f"The choice `{kind} {value}`"
        back = _back(decision)
    return (
        f"{what} is not part of {DISTRIBUTION}: {DECISIONS[decision]}"
        f" (batch `{decision}` of its manifest) {back}"
    )


def _back(decision: str) -> str:
    """How a build brings back what a decision left out."""
    if decision not in UNDO:
        return "It left with the last code that used it, and no option of a build brings it back alone."
    return f"To bring it back, build {UNDO[decision]}."


def explained(kind: str, values: str | Iterable[str], message: str) -> str:
    """An error message, with the reason behind it for every value that was left out."""
    if isinstance(values, str):
        values = [values]
    reasons = [reason for value in values if (reason := explain(kind, value))]
    return "\n".join([message, *reasons])


class _HelpFormatter(argparse.HelpFormatter):
    """Adds to the help of an option which options and choices it names were left out."""

    def _get_help_string(self, action):
        help_text = action.help
        left_out = {*FLAGS, *(value for option in action.option_strings for value in CHOICES.get(option, ()))}
        named = sorted(left_out.intersection(re.findall(r"[\w-]+", help_text)))
        return f"{help_text} (Not in {DISTRIBUTION}: {', '.join(named)}.)" if named else help_text


class ArgumentParser(argparse.ArgumentParser):
    """Says of options and choices that were left out why they are not there."""

    def __init__(self, *args, formatter_class=_HelpFormatter, **kwargs):
        super().__init__(*args, formatter_class=formatter_class, **kwargs)

    def parse_known_args(self, args=None, namespace=None):
        parsed, rest = super().parse_known_args(args, namespace)
        for option, values in CHOICES.items():  # an option may take any text and yet know some values
            value = getattr(parsed, option.lstrip("-").replace("-", "_"), None)
            if isinstance(value, str) and value in values:
                self.error(f"argument {option}: invalid choice: {value!r}")
        return parsed, rest

    def error(self, message: str) -> NoReturn:
        choice = _CHOICE.match(message)
        if choice is not None:
            for option in choice[1].split("/"):
                message = explained(option, choice[2], message)
        elif message.startswith("unrecognized arguments:"):
            words = [word.partition("=")[0] for word in message.split()]
            message = explained("flag", dict.fromkeys(words), message)
        super().error(message)


def listing() -> str:
    """Everything that was left out, by the decision that left it out."""
    rows: dict[str, dict[str, list[str]]] = {decision: {} for decision in DECISIONS}
    for title, table in (("options", FLAGS), ("routes", ROUTES), ("environment variables", VARIABLES)):
        for name, decision in table.items():
            rows[decision].setdefault(title, []).append(name)
    for option, values in CHOICES.items():
        for value, decision in values.items():
            rows[decision].setdefault("values", []).append(f"{option} {value}")
    for name, (_, decision) in MODELS.items():
        rows[decision].setdefault("architectures", []).append(name)
    lines = [f"{DISTRIBUTION} leaves out:"]
    for decision, found in sorted(rows.items()):
        lines += ["", f"{decision}: {DECISIONS[decision]}"]
        lines += [f"  {title}: {', '.join(names)}" for title, names in found.items()]
        if set(found) != {"architectures"}:
            lines.append(f"  {_back(decision)}")
        if "architectures" in found:
            lines.append(
                "  To bring an architecture back, add its module to roots.models.keep in the manifest."
            )
    return "\n".join(lines)
