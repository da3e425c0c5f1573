"""A package with one method that only a folded branch calls."""

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
    """Does A.purge stay, which only a folded branch calls?"""
    text = dedent(METHOD).format(head=head, bases=bases, use=use)
    return "def purge" in output({"pkg/a.py": text, **(others or {})})["pkg/a.py"]
