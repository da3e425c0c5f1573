"""doctor: check the tools, the manifest, the cache and the upstreams."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from builder.cli import options, output
from builder.errors import ENVIRONMENT, BuildError
from builder.upstream.cache import default_cache


@click.command("doctor")
@options.upstream_options
@click.option("--repair", is_flag=True, help="Remove what is damaged in the cache; a build fetches it again.")
def command(repair: bool, **shared: Any) -> None:
    """Check everything that a build needs, one line each; exit status 7 if a check fails.

    Looks for UPSTREAM or, without it, for every pin of the manifest.
    """
    output.settings.form = shared["form"]
    cache = shared["cache"] or default_cache()
    checks = [_python(), _git(), _ruff(), _cache(cache), *_damage(cache, repair)]
    try:
        request = options.ask(**shared)
        count = len(request.manifest.batches) - 1
        checks.append((True, f"manifest {shared['manifest_path']}: {count} batches"))
        names = [shared["upstream"]] if shared["upstream"] else request.manifest.upstream.pins
        checks += [_upstream(request, name) for name in names]
    except BuildError as error:
        checks += [(False, f"manifest: {problem.mark or ''} {problem.message}") for problem in error.problems]
    if output.settings.form == "json":
        output.data({"checks": [{"ok": fine, "what": sentence} for fine, sentence in checks]})
    else:
        for fine, sentence in checks:
            click.echo(f"{'ok ' if fine else 'NO '} {sentence}")
    if not all(fine for fine, _ in checks):
        sys.exit(ENVIRONMENT)


def _python() -> tuple[bool, str]:
    version = ".".join(map(str, sys.version_info[:3]))
    return sys.version_info >= (3, 10), f"Python {version} (3.10 or newer required)"


def _git() -> tuple[bool, str]:
    from builder.upstream.git import MINIMUM_GIT, git_version

    wanted = ".".join(map(str, MINIMUM_GIT))
    try:
        installed = git_version()
    except BuildError as error:
        return False, error.problems[0].message
    return installed >= MINIMUM_GIT, f"git {'.'.join(map(str, installed))} ({wanted} or newer required)"


def _ruff() -> tuple[bool, str]:
    from builder import ruff

    try:
        return True, ruff.version()
    except BuildError as error:
        return False, f"{error.problems[0].message.rstrip('.')}: {error.problems[0].hint}"


def _cache(cache: Path) -> tuple[bool, str]:
    at = next(folder for folder in (cache.absolute(), *cache.absolute().parents) if folder.exists())
    return at.is_dir() and os.access(at, os.W_OK), f"cache {cache}"


def _damage(cache: Path, repair: bool) -> list[tuple[bool, str]]:
    """A line for each damaged part of the cache; none for a sound one."""
    from builder.upstream import damage

    cache = cache.absolute()
    try:
        paths = damage.damaged(cache)
        if repair and paths:
            damage.remove(cache, paths)
            return [(True, f"cache: {path} was damaged and is removed") for path in paths]
    except BuildError as error:
        return [(False, error.problems[0].message)]
    return [(False, f"cache: {path} is damaged: `doctor --repair` removes it") for path in paths]


def _upstream(request: options.Request, name: str) -> tuple[bool, str]:
    try:
        upstream = options.resolve(replace(request, upstream=name), quiet=True)
    except BuildError as error:
        return False, f"upstream {name}: {error.problems[0].message}"
    return True, f"upstream {name}: {len(upstream.tree):,} paths, {upstream.origin}"
