"""The constants that classes give names in their bodies: defaults of fields, members of enumerations."""

from __future__ import annotations

import ast

from builder.memo import remembered
from builder.source.fields import nodes
from builder.source.parse import parse


@remembered
def class_constants(data: bytes) -> tuple[tuple[int, str, str, object], ...]:
    """(line, class, name, value) of each constant that the body of a class gives a name."""
    return tuple(
        (node.lineno, cls.name, target.id, value.value)
        for cls in nodes(parse(data, "").tree)
        if isinstance(cls, ast.ClassDef)
        for node in cls.body
        if isinstance(value := getattr(node, "value", None), ast.Constant)
        for target in (node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)])
        if isinstance(target, ast.Name)
    )
