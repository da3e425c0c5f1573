"""A package with one method, and one with one function, that only a folded branch calls."""

from __future__ import annotations

from textwrap import dedent

from small_package import output

METHOD = """
    from pkg.platform import is_npu
    {head}
    class A{bases}:
        def purge(self):
            return 1

    def main(a, name):
        if is_npu():
            return a.purge()
        return {use}
"""


def method_stays(use: str, *, head: str = "", bases: str = "", others: dict[str, str] | None = None) -> bool:
    """Return whether A.purge stays, which only a folded branch calls."""
    text = dedent(METHOD).format(head=head, bases=bases, use=use)
    return "def purge" in output({"pkg/a.py": text, **(others or {})})["pkg/a.py"]


FUNCTION = """
    from pkg.platform import is_npu
    {head}
    def purge():
        return 1

    class A:
        pass

    def main(a, name):
        if is_npu():
            return purge()
        return {use}
"""


def function_stays(use: str, *, head: str = "", others: dict[str, str] | None = None) -> bool:
    """Return whether purge() stays, a function of the module with the class A, which only a folded branch
    calls."""
    text = dedent(FUNCTION).format(head=head, use=use)
    return "def purge" in output({"pkg/a.py": text, **(others or {})})["pkg/a.py"]
