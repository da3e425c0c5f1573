"""The options that several verbs share, and the manifest and upstream that they name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from builder.adapter import MIRROR
from builder.cli import output

if TYPE_CHECKING:
    from builder.manifest.model import Manifest
    from builder.upstream.model import Sources, Upstream

Function = TypeVar("Function", bound=Callable[..., object])


def _remember_cache(context: click.Context, parameter: click.Parameter, cache: Path | None) -> Path | None:
    output.settings.cache = cache
    return cache


def _check_python(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The value of --python. Raises BadParameter for what is no version."""
    if value is not None and not re.fullmatch(r"3\.[0-9]{1,3}", value):
        raise click.BadParameter(f"{value!r} is not a version of Python like 3.12.")
    return value


def path_option(*names: str, metavar: str = "FILE", **more: Any) -> Callable[[Function], Function]:
    """An option that takes a path; a default is shown in its help."""
    kind = click.Path(path_type=Path)
    return click.option(*names, type=kind, metavar=metavar, show_default="default" in more, **more)


MANIFEST = path_option("--manifest", "manifest_path", default="manifest.yaml", help="The manifest.")
_WITHOUT = click.option(
    "--without", multiple=True, metavar="BATCH", help="Switch a batch off; may be repeated."
)
_WITH = click.option(
    "--with", "switched_on", multiple=True, metavar="BATCH",
    help="Switch a batch on that is off in the scope; may be repeated.",
)  # fmt: skip
_WITH_NEEDS = click.option(
    "--with-needs", is_flag=True, help="Also switch off what the batches of --without need off."
)
_SCOPE = click.option(
    "--scope", default="default", show_default=True, metavar="NAME", help="A scope that the manifest names."
)
FORMAT = click.option(
    "--format", "form", type=click.Choice(output.FORMATS), default="human", show_default=True,
    help="How problems and data are printed.",
)  # fmt: skip
CACHE = path_option(
    "--cache", envvar="BUILDER_CACHE", metavar="DIR", callback=_remember_cache,
    help="The builder's cache folder (or BUILDER_CACHE).",
)  # fmt: skip
OFFLINE = click.option("--offline", is_flag=True, help="Use no network.")
PYTHON = click.option(
    "--python", metavar="3.N", callback=_check_python,
    help="The version of Python for which a release's wheel is taken (default: as the pins, or the newest).",
)  # fmt: skip
_MIRROR = path_option(
    "--mirror", envvar=["BUILDER_MIRROR", MIRROR], metavar="DIR",
    help="A local git repository of upstream (or BUILDER_MIRROR).",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Request:
    """The values of the shared options, with the manifest loaded."""

    manifest: Manifest
    without: tuple[str, ...]
    upstream: str = ""
    mirror: Path | None = None
    cache: Path | None = None
    offline: bool = False
    python: str | None = None
    root: Path = Path()  # the manifest's folder
    whole: Manifest | None = None  # the manifest before a scope was chosen

    @property
    def off(self) -> tuple[str, ...]:
        """The batches that are off: those of `without`, and those of the scope."""
        scope = self.manifest.named_scope
        return (*self.without, *(scope.without if scope is not None else ()))

    @property
    def switched(self) -> str:
        """Which batches the options switch, in words; "" for none."""
        from builder.manifest.switches import said

        return said(self.without, self.manifest.switched_on)


def upstream_options(function: Function) -> Function:
    """UPSTREAM and the options that say which manifest and where upstreams are looked for."""
    return click.argument("upstream", required=False)(upstream_without_argument(function))


def upstream_without_argument(function: Function) -> Function:
    """Like `upstream_options`, but without UPSTREAM, for a verb that takes another argument."""
    for option in (PYTHON, OFFLINE, CACHE, _MIRROR, FORMAT, _WITH_NEEDS, _WITHOUT, _WITH, _SCOPE, MANIFEST):
        function = option(function)
    return function


def ask(
    manifest_path: Path,
    scope: str,
    without: tuple[str, ...],
    form: str,
    with_needs: bool = False,
    switched_on: tuple[str, ...] = (),
    upstream: str | None = None,
    **places: Any,
) -> Request:
    """Load the manifest in a scope, without the batches that are switched off and with those that are
    switched on. Raises BuildError.

    `places`: the options that say where an upstream is looked for, which the request takes as they are.
    """
    from builder.errors import BuildError
    from builder.manifest.load import load, read_texts
    from builder.manifest.switches import choose, switch_off

    output.settings.form = form
    if with_needs and not without:
        raise click.UsageError("--with-needs goes with --without, which names the batches that have needs.")
    output.locate(manifest_path.parent)
    try:
        manifest = load(manifest_path)
    except BuildError:
        output.remember(read_texts(manifest_path))
        raise
    output.remember(manifest.texts)
    batches = [batch.id for batch in manifest.batches]
    if both := sorted({*without}.intersection(switched_on)):
        raise click.UsageError(f"`--with {both[0]}` and `--without {both[0]}` contradict each other.")
    if without:
        manifest = switch_off(manifest, without, with_needs, scope)
    on = {batch.id for batch in manifest.batches}
    off = tuple(name for name in batches if name not in on)
    if more := [name for name in off if name not in without]:
        output.note(f"also off: {', '.join(more)}")
    if both := sorted({*off}.intersection(switched_on)):
        raise click.UsageError(f"The batch `{both[0]}` is switched on and off.")
    whole, manifest = manifest, choose(manifest, scope, switched_on)
    root = manifest_path.resolve().parent
    return Request(manifest, off, upstream or manifest.upstream.default, root=root, whole=whole, **places)


def sources(request: Request) -> Sources:
    """Where the request's upstreams are looked for."""
    from builder.upstream.cache import default_cache
    from builder.upstream.model import Sources

    cache = request.cache or default_cache()
    return Sources.of(request.manifest, request.mirror, cache, request.offline, request.python)


def resolve(request: Request, quiet: bool = False) -> Upstream:
    """Find the requested upstream; prints where it came from unless `quiet`. Raises BuildError."""
    from builder.upstream.resolve import resolve as find

    if not quiet:
        output.stage(f"looking for {request.upstream}")
    upstream = find(request.upstream, sources(request))
    if not quiet:
        output.note(f"upstream {request.upstream}: {upstream.origin}")
    return upstream
