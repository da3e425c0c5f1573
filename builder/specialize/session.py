"""Specializes a program, or goes on from the one before where only files left it."""

from __future__ import annotations

from dataclasses import replace

from builder.specialize.fixpoint import Fixpoint
from builder.specialize.program import Memo, Policy, Program
from builder.specialize.results import Specialized


class Session:
    """The specialization of one program, which goes on when more of its files leave."""

    def __init__(self) -> None:
        self._last: tuple[Fixpoint, Policy] | None = None

    def run(self, program: Program, policy: Policy, memo: Memo) -> Specialized:
        """Go on from the last program where this one is its output without some files; else begin again."""
        if self._last is not None and _continues(program, policy, *self._last):
            return self._last[0].go_on(frozenset(program.files), program.removed)
        fixpoint = Fixpoint(program, policy, memo if policy.check else replace(memo, folds={}))
        self._last = fixpoint, policy
        return fixpoint.run()


def _continues(program: Program, policy: Policy, last: Fixpoint, last_policy: Policy) -> bool:
    """Return whether a program is the output of the last one without some of its files, under the same
    policy.

    `prune_symbols` is a function of the manifest, which does not change within a session.
    """
    return (
        replace(policy, prune_symbols=last_policy.prune_symbols) == last_policy
        and program.removed >= last.removed
        and program.upstream.keys() == last.upstream.keys()
        and program.files.items() <= last.files.items()
    )


def specialize(
    program: Program, policy: Policy, memo: Memo | None = None, session: Session | None = None
) -> Specialized:
    """Specialize a program: fold what the facts decide, cascade what is gone and clean up after both.

    Never raises for what the program holds: what cannot be done is among the result's mismatches.
    `session`: knows the program with more files, if it was specialized before.
    """
    return (session or Session()).run(program, policy, memo or Memo())
