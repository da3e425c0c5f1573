"""G014: a value that a fact states fits the code that is left."""

from __future__ import annotations

import pytest
from gate_worlds import manifest, worlds

from builder.analysis.removals import Removals
from builder.errors import Mark, Problem
from builder.gates import stated_values
from builder.manifest.statements import Absent, Batch, Fact

HERE = Mark("manifest.yaml", 3, 5)


def found(before: str, after: str, *facts: Fact) -> list[Problem]:
    one, two = worlds({"a.py": before}, {"a.py": after})
    stated = manifest(batches=(Batch("b", "why", HERE, facts=facts),))
    return stated_values.check(one, two, stated, Removals())


def value(name: str, of: object, exact: bool = True) -> Fact:
    return Fact("value", name, of, "b", exact, mark=HERE)  # type: ignore[arg-type]


STATISTICS = "class Statistics:\n    usage: float = 0.0\n"


def test_a_default_of_a_class_that_differs_from_the_fact_is_a_problem() -> None:
    (problem,) = found(STATISTICS + "x = 1\n", STATISTICS, value("*.usage", None))
    assert problem.code == "G014"
    assert problem.mark == HERE
    assert "`*.usage` is None (batch b), and Statistics sets it to 0.0" in problem.message


@pytest.mark.parametrize("stated", [value("*.usage", 0.0), value("*.usage", False, exact=False)])
def test_a_default_that_the_fact_allows_is_none(stated: Fact) -> None:
    assert found(STATISTICS + "x = 1\n", STATISTICS, stated) == []


def test_false_is_not_zero_where_the_fact_is_exact() -> None:
    assert len(found(STATISTICS + "x = 1\n", STATISTICS, value("*.usage", False))) == 1


def test_a_fact_of_one_owner_says_nothing_of_classes() -> None:
    assert found(STATISTICS + "x = 1\n", STATISTICS, value("*.batch.usage", None)) == []


@pytest.mark.parametrize(
    "expression",
    ["0 < None <= 1.0", "None - size", "size / None", "-None", "None[0]", "None.size", "len(None)", "None()",
     "size in None"],
)  # fmt: skip
def test_none_where_it_raises_an_error_is_a_problem(expression: str) -> None:
    (problem,) = found("x = size\n", f"x = {expression}\n")
    assert problem.upstream == Mark("python/pkg/a.py", 1)
    assert problem.excerpt == f"x = {expression}"


@pytest.mark.parametrize(
    "expression",
    ["None == size", "int | None", "print(None)", "size[None]", "None in sizes", "None.__class__"],
)
def test_none_where_it_raises_no_error_is_none(expression: str) -> None:
    assert found("x = size\n", f"x = {expression}\n") == []


def test_an_attribute_that_a_literal_does_not_have_is_a_problem() -> None:
    (problem,) = found("x = mode.value\n", 'x = "null".value\n')
    assert problem.code == "G014"
    assert problem.hint is not None and "`*.owner.value`" in problem.hint
    assert found("x = mode.upper()\n", 'x = "null".upper()\n') == []
    assert found("x = mode.value\n", 'x = "a.value"\n') == []


def test_what_upstream_does_itself_is_no_problem() -> None:
    assert found("x = None[0]\ny = 1\n", "x = None[0]\n") == []
    assert len(found("x = None[0]\ny = 1\n", "x = None[0]\ny = None[0]\n")) == 1


def test_an_absent_field_that_a_method_still_reads_is_a_problem() -> None:
    upstream = "class Options:\n    size: int = 1\n\n    def set(self):\n        self.size = self.size or 2\n"
    output = "class Options:\n    def set(self):\n        self.size = self.size or 2\n"
    one, two = worlds({"a.py": upstream}, {"a.py": output})
    gone = Absent("symbol", "pkg.a.Options.size", "b", mark=HERE)
    stated = manifest(batches=(Batch("b", "why", HERE, absent=(gone,)),))
    (problem,) = stated_values.check(one, two, stated, Removals())
    assert "self.size is read, and batch b removes the field" in problem.message
    assert problem.upstream == Mark("python/pkg/a.py", 3)


BESIDE_NONE = [
    "x = None[0]", "x = (None)[0]", "x = None .y", "f(*None)", "x = 1 < None", "x = 1 <= \\\n None",
    "x = y in None", "x = y not in (None)", "x = None()", "x = len(None)", "x = len((None))", "x = -None",
    "x = (1 + # comment\n None)", "x = (None # comment\n)[0]", "x = None > 3", "x = None << 3", "x = a@None",
    "x = '%d' % None", "x = 'plain' % None",
]  # fmt: skip


@pytest.mark.parametrize("code", BESIDE_NONE)
def test_the_text_shows_each_none_that_raises_an_error(code: str) -> None:
    assert stated_values.misuses(code.encode())


def test_a_text_may_put_none_into_itself() -> None:
    assert not stated_values.misuses(b"x = 'group %s' % None")
