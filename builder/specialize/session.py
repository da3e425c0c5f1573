"""Specializes a program, or goes on from the one before where only files left it."""

from __future__ import annotations

from dataclasses import replace

from builder.source.encoding import encoded, readable
from builder.specialize.fixpoint import Fixpoint
from builder.specialize.program import NO_MEMO, Memo, Policy, Program
from builder.specialize.results import Mismatch, Specialized


class Session:
    """The specialization of one program, which goes on when more of its files leave."""

    def __init__(self) -> None:
        self._last: tuple[Fixpoint, Policy] | None = None

    def run(self, program: Program, policy: Policy, memo: Memo) -> Specialized:
        """Go on from the last program where this one is its output without some files; else begin again."""
        if self._last is not None and _continues(program, policy, *self._last):
            return self._last[0].go_on(frozenset(program.files), program.removed)
        texts = {path: readable(data) for path, data in program.files.items()}
        upstream = {path: readable(data) for path, data in program.upstream.items()}
        decoded = replace(program, files=texts, upstream=upstream)
        fixpoint = Fixpoint(decoded, policy, memo if policy.check else replace(memo, folds=None))
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
        and all(last.files.get(path) == readable(data) for path, data in program.files.items())
    )


def specialize(
    program: Program, policy: Policy, memo: Memo = NO_MEMO, session: Session | None = None
) -> Specialized:
    """Specialize a program: fold what the facts decide, cascade what is gone and clean up after both.

    Never raises for what the program holds: what cannot be done is among the result's mismatches.
    `session`: knows the program with more files, if it was specialized before.
    """
    result = (session or Session()).run(program, policy, memo)
    for path, data in list(result.files.items()):
        try:
            result.files[path] = encoded(data, program.files[path])
        except ValueError as error:
            del result.files[path]
            result.mismatches.append(Mismatch(path, f"the edits cannot be written: {error}"))
    return result
