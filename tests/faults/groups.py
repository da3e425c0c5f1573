"""The groups of faults that the builder must hold under, and the tests that try each of them.

A group names whole files or single tests, as pytest spells them; a prefix stands for all tests below it.
docs/reliability.md counts what ran.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """Faults of one kind: what is tried, what must come of it, and where."""

    title: str
    holds: str
    tests: tuple[str, ...]
    apart: str = ""  # what is not tried, and why


_HOSTILE = "unit/test_cli_hostile.py"
_WRITE = "unit/test_emit_write.py"
_CACHE = "unit/test_upstream_cache.py"
_RESOLVE = "unit/test_upstream_resolve.py"
_PLACES = "unit/test_output_places.py"
_DRILL = "faults/test_drill.py"
_STOPPED = "unit/test_cli_stopped.py"
_KILLED = "long/test_cli_killed.py"
_SURROUNDINGS = "long/test_cli_surroundings.py"

GROUPS: dict[str, Group] = {
    "paths": Group(
        "Paths of the manifest: out of the tree, absolute, with control characters, too long, empty patterns",
        "M007 or M004 with line and column",
        ("unit/test_manifest_paths.py", "unit/test_select_patterns.py", f"{_HOSTILE}::test_each_mistake"),
    ),
    "overlays": Group(
        "Overlay files that are links, pipes, folders, too large, or lie under `.git`",
        "M008 or M007; nothing is read through a link",
        (
            "unit/test_manifest_files.py",
            "unit/test_overlay_files.py",
            f"{_HOSTILE}::test_a_missing_an_unused",
            f"{_HOSTILE}::test_a_broken_overlay",
        ),
    ),
    "trees": Group(
        "Upstream trees with links out, gitlinks, colliding and raw names, attributes, what is not Python",
        "the bytes come through as they are, or a coded refusal; nothing outside OUT",
        (
            "unit/test_hostile_trees.py",
            "unit/test_upstream_git.py::test_modes",
            "unit/test_upstream_git.py::test_a_tree_with",
            "unit/test_pipeline_unparsed.py",
            f"{_HOSTILE}::test_an_edit_of_a_file_that_does_not_parse",
            f"{_WRITE}::test_a_path_that_is_not_plain",
            f"{_WRITE}::test_a_gitlink",
            f"{_WRITE}::test_names_that_are_not_utf_8",
        ),
    ),
    "patches": Group(
        "Patches: traversal, links, offsets, wrong counts, binary, reversed, applied twice",
        "applied exactly as written, or R-coded with the true place",
        ("unit/test_overlay_patch.py", "unit/test_fuzz_readers.py::test_any_patch"),
    ),
    "yaml": Group(
        "YAML: duplicate keys, aliases and bombs, tags, tabs, encodings, depth, size, wrong types",
        "M001 to M006 with file, line and column",
        (
            "unit/test_manifest_nodes.py",
            "unit/test_manifest_faults.py",
            "unit/test_manifest_schema.py",
            "unit/test_manifest_values.py",
            f"{_HOSTILE}::test_a_manifest_",
            "unit/test_fuzz_readers.py::test_any_manifest",
        ),
    ),
    "regex": Group(
        "Patterns that backtrack without end, replacements with a wrong group",
        "no statement is a regular expression: patterns of paths and names are globs, edits are literal or "
        "by syntax tree",
        ("unit/test_select_patterns.py",),
        "a pattern language that cannot backtrack leaves nothing else to try",
    ),
    "upstream": Group(
        "UPSTREAM: option-like, ambiguous, short, of a blob or tree, unknown, offline",
        "U001 or U002 with what was tried; git never sees an option",
        (
            f"{_RESOLVE}::test_a_name_that",
            f"{_RESOLVE}::test_any_text",
            f"{_RESOLVE}::test_a_misspelt",
            f"{_RESOLVE}::test_a_blob_or",
            f"{_RESOLVE}::test_an_abbreviation",
            f"{_RESOLVE}::test_a_tag_and",
            f"{_RESOLVE}::test_an_address_that",
            f"{_HOSTILE}::test_an_unknown_commit",
            f"{_HOSTILE}::test_a_name_that_can_be",
            f"{_HOSTILE}::test_the_id_of_a_blob",
        ),
    ),
    "git": Group(
        "Git: the caller's environment, configuration, hooks, replace refs, grafts, alternates, missing and "
        "damaged objects, shallow and partial clones",
        "no effect, or U001; no program of the repository runs",
        (
            "unit/test_hostile_git.py",
            "unit/test_upstream_git.py",
            f"{_RESOLVE}::test_the_clone_has_no_hooks",
            f"{_RESOLVE}::test_a_mirror_that_lacks",
        ),
    ),
    "kill": Group(
        "SIGKILL at every stage boundary and at system calls in between",
        "the old or the new output, whole; the next run succeeds and leaves nothing beside it",
        (
            f"{_DRILL}::test_sigkill",
            f"{_KILLED}::test_sigkill",
            f"{_STOPPED}::test_sigkill",
            f"{_WRITE}::test_a_kill",
            f"{_WRITE}::test_after_a_kill",
            f"{_CACHE}::test_the_lock_of_a_killed",
            f"{_RESOLVE}::test_a_builder_killed",
            f"{_RESOLVE}::test_what_a_killed_git",
        ),
    ),
    "signals": Group(
        "SIGINT, SIGTERM, SIGHUP at stages and system calls, and to the whole process group",
        "130, 143, 129 or the finished run; nothing is left beside the output",
        (
            f"{_DRILL}::test_a_request_to_end",
            f"{_KILLED}::test_an_interruption",
            f"{_KILLED}::test_a_request_to_end",
            f"{_KILLED}::test_a_first_build",
            f"{_STOPPED}::test_a_request_to_end",
            f"{_WRITE}::test_an_interrupt",
        ),
    ),
    "system": Group(
        "ENOSPC, EIO, EMFILE, EACCES, EROFS, EXDEV from any system call; full and read-only file systems",
        "a coded problem with the true cause, or the finished run; the old or the new output, whole",
        (
            f"{_DRILL}::test_a_system_call",
            f"{_PLACES}::test_a_file_system",
            f"{_WRITE}::test_a_write_that_fails",
            f"{_WRITE}::test_a_rename_that_fails",
            f"{_WRITE}::test_a_second_rename",
            f"{_WRITE}::test_without_hard_links",
            f"{_WRITE}::test_a_short_write",
            f"{_CACHE}::test_a_full_or_failing_disk",
            f"{_HOSTILE}::test_a_full_disk",
        ),
    ),
    "builders": Group(
        "Two builders at once; the lock of a dead builder; a lock that cannot be made",
        "one whole output; a wait, then E004",
        (
            f"{_KILLED}::test_two_builders",
            f"{_KILLED}::test_a_builder_that_waits",
            f"{_STOPPED}::test_two_builders",
            f"{_WRITE}::test_another_builder",
            f"{_WRITE}::test_many_builders",
            f"{_WRITE}::test_a_lock_that_cannot",
            f"{_WRITE}::test_a_check_waits",
            f"{_CACHE}::test_a_second_builder",
            f"{_RESOLVE}::test_two_builders",
        ),
        "a file system without locks: the lock then falls back to an existence lock of the library",
    ),
    "caches": Group(
        "Caches and downloads: flipped, truncated, under a wrong name, missing, of another version",
        "found by digest; fetched again, or refused offline; never used",
        (
            "unit/test_damaged_caches.py",
            "unit/test_cache_file.py",
            "unit/test_upstream_sdist.py",
            f"{_RESOLVE}::test_a_damaged_clone",
            f"{_RESOLVE}::test_a_blob_that_is_damaged",
            f"{_RESOLVE}::test_objects_without",
            f"{_RESOLVE}::test_a_read_only_cache",
            f"{_RESOLVE}::test_a_cache_that_is_a_file",
        ),
    ),
    "places": Group(
        "OUT: foreign or edited files, a file, a link, a mount point, below a file, without a parent",
        "E001 or E002 before the work, with the true cause",
        (
            _PLACES,
            f"{_HOSTILE}::test_an_output",
            f"{_HOSTILE}::test_a_hand_edited",
            f"{_HOSTILE}::test_a_read_only_parent",
            f"{_WRITE}::test_a_folder_with_files",
            f"{_WRITE}::test_every_foreign",
            f"{_WRITE}::test_a_file_replaced",
            f"{_WRITE}::test_a_marker_that",
            f"{_WRITE}::test_a_symlink",
            f"{_WRITE}::test_a_file_is_no_folder",
            f"{_WRITE}::test_a_missing_parent",
            f"{_WRITE}::test_a_place_below",
            f"{_WRITE}::test_the_root",
            f"{_WRITE}::test_a_read_only_parent",
        ),
    ),
    "offline": Group(
        "No network",
        "works where the objects are there; otherwise an error that names a command, before any write",
        (
            f"{_HOSTILE}::test_without_mirror",
            f"{_HOSTILE}::test_a_fresh_clone",
            f"{_RESOLVE}::test_offline",
            f"{_RESOLVE}::test_an_unreachable",
            f"{_RESOLVE}::test_one_commit_is_fetched",
        ),
    ),
    "surroundings": Group(
        "Clock, time zone, umask, locale, no HOME, no terminal, 40 columns, closed streams",
        "the same bytes, and whole messages",
        (
            f"{_HOSTILE}::test_a_bare_environment",
            f"{_HOSTILE}::test_a_python",
            _SURROUNDINGS,
            f"{_HOSTILE}::test_a_terminal",
            f"{_HOSTILE}::test_a_closed_stream",
            f"{_HOSTILE}::test_a_reader",
            "unit/test_progress.py::test_colours",
            "unit/test_cli_determinism.py::test_the_clock",
            f"{_WRITE}::test_the_umask",
        ),
    ),
    "rules": Group(
        "Every statement of the real manifest made to match nothing, or stated twice",
        "an error that names the statement",
        ("faults/test_mutated_manifest.py::test_a_statement",),
    ),
    "entries": Group(
        "Every overlay of the real manifest deleted, or left without a statement",
        "an error that names it",
        ("faults/test_mutated_manifest.py::test_an_overlay",),
    ),
    "idempotence": Group(
        "The builder on its own output; lists in another order; one worker or many",
        "nothing changes",
        (
            "unit/test_hostile_trees.py::test_what_a_tree_may_hold",
            "unit/test_cli_determinism.py::test_the_number",
            "unit/test_cli_determinism.py::test_the_order_of_edits",
            "unit/test_cli_determinism.py::test_a_build_over",
            "release/test_release.py",
            "real/test_dist.py",
        ),
    ),
    "determinism": Group(
        "Paths, umasks, locales, time zones, hash seeds, order of folders, workers, versions of Python",
        "the same bytes",
        ("unit/test_cli_determinism.py", "faults/test_pythons.py"),
    ),
    "history": Group(
        "Upstream's releases, replayed",
        "each release builds, or the lift report names what broke",
        ("real/test_lift_real.py", "unit/test_lift.py", "unit/test_sweep.py"),
    ),
    "evaluation": Group(
        "Random programs before and after specialization",
        "the same behaviour, the same bytes outside of edits",
        ("unit/test_specialize_soundness.py", "spec/"),
    ),
    "archives": Group(
        "Sdists and wheels: traversal, links, duplicates, polyglots, bombs, wrong RECORD",
        "refused before anything is used, and the digest before anything is opened",
        (
            "unit/test_hostile_archives.py",
            "unit/test_fuzz_readers.py::test_any_sdist",
            "unit/test_fuzz_readers.py::test_any_wheel",
            "unit/test_upstream_sdist.py",
            "unit/test_kernel_wheel.py",
            "unit/test_kernel_wheel_verb.py",
        ),
    ),
    "distribution": Group(
        "A distribution that was changed after it was built",
        "`verify-dist` names what differs, with git, Python and sha256sum alone",
        ("unit/test_verify_dist.py", "unit/test_docs.py::test_the_commands_of_the_page_on_the_output"),
    ),
}


def groups_of(node: str) -> Iterator[str]:
    """The groups that a test belongs to; `node` is its id, from the repository's root."""
    name = node.removeprefix("tests/")
    for group, stated in GROUPS.items():
        if name.startswith(stated.tests):
            yield group
