"""Turns documents into the manifest's dataclasses; never fails (see `view`), but collects problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal

from builder.adapter import SERVER_PARSER
from builder.errors import Mark
from builder.manifest import scope
from builder.manifest.documents import Documents
from builder.manifest.findings import TRUTH, Findings
from builder.manifest.model import (
    AbsentText,
    Architecture,
    DynamicEdge,
    Guarantees,
    KeptDependency,
    Kernel,
    Manifest,
    Pin,
    Project,
    Root,
    Roots,
    TextException,
    Upstream,
    WheelRule,
)
from builder.manifest.named_scopes import named_scopes
from builder.manifest.statements import (
    BASE,
    Absent,
    AnchoredEdit,
    Batch,
    Configuration,
    Edit,
    Fact,
    FactKind,
    Models,
    Option,
    Patch,
    Rule,
    Spared,
    TomlEdit,
    WholeFile,
    Word,
)
from builder.manifest.view import View

_Verdict = Literal["keep", "remove", "prune"]


def build(documents: Documents, findings: Findings) -> Manifest:
    """The manifest that the documents state, as far as they can be read; without digest, texts, overlays."""
    root = documents.root
    base = Batch(
        BASE,
        "No root reaches it, or the top of the manifest states it.",
        root.mark,
        rules=tuple(_rules(root, "keep", BASE, findings)),
        facts=tuple(_facts(root.at("facts"), BASE, findings)),
        options=tuple(_options(root.at("facts"), BASE, findings)),
        configuration=_configuration(root.at("facts")),
        absent=tuple(_absent(root.at("absent"), BASE)),
    )
    for _, folder in root.entries("packages"):
        findings.path(folder)
    for stray in documents.strays():
        _batch(stray, findings)  # for what is wrong in it
    reasons = {batch.text("id"): batch.text("why") for batch in root.alone().items("batches")}
    packages = {name: folder.word for name, folder in root.entries("packages")}
    return Manifest(
        file=documents.manifest.file,
        name=root.text("name"),
        label=root.text("label"),
        upstream=_upstream(root.at("upstream"), packages),
        packages=packages,
        roots=_roots(root.at("roots"), next(iter(packages), "")),
        batches=(base, *(_batch(view, findings) for view in documents.batches())),
        guarantees=_guarantees(root.at("guarantees"), findings),
        marks=documents.manifest.values,
        prune_symbols=tuple(_rules(root, "prune_symbols", BASE, findings)),
        named_files=tuple(_rules(root, "named_files", BASE, findings)),
        kernel=_kernel(root.at("kernel"), reasons, findings) if root.has("kernel") else None,
        scope=tuple(scope.items(documents.scope)) if documents.scope else (),
        scopes={one.name: one for one in named_scopes(root.at("scopes").alone(), findings)},
        wheel=root.at("wheel").data is not False,
    )


def _upstream(view: View, packages: Mapping[str, str]) -> Upstream:
    pins = {
        name: Pin(
            name,
            pin.document.keys.get(pin.path, pin.mark),
            pin.optional_text("commit"),
            pin.optional_text("sdist"),
            pin.optional_text("sha256"),
            pin.optional_text("version"),
            pin.optional_text("wheel"),
            pin.optional_text("python"),
        )
        for name, pin in view.entries("pins")
    }
    return Upstream(view.text("repository"), pins, view.text("default"), _project(view, packages))


def _project(view: View, packages: Mapping[str, str]) -> Project:
    """As stated, or as the first package tells: it has the project's name, and lies beside its pyproject.toml
    or in `src/` there."""
    name, folder = next(iter(packages.items()), ("", ""))
    above = folder.strip("/").split("/")[: -len(name.split("."))]
    beside = "/".join(above[:-1] if above[-1:] == ["src"] else above)
    stated = view.optional_text("folder")
    return Project(
        view.optional_text("project") or name.partition(".")[0].replace("_", "-"),
        beside if stated is None else stated.strip("./"),
    )


def _roots(view: View, package: str) -> Roots:
    """The roots; `package` is the first package, in which the adapter has defaults."""
    models = view.at("models")
    edges = (
        DynamicEdge(
            e.text("from"),
            e.text("to"),
            e.text("why"),
            e.mark,
            e.optional_text("optional"),
            e.span(),
            e.at("of_kept_models").data is True,
        )
        for e in view.items("dynamic")
    )
    modules = (_root(item) for item in view.items("modules"))
    return Roots(
        tuple(modules),
        models.texts("keep"),
        models.text("package"),
        tuple(edges),
        view.texts("programs"),
        view.optional_text("command_line") or f"{package}.{SERVER_PARSER}",
        models.texts("tables"),
        tuple(_root(item) for item in models.items("used_by")),
    )


def _root(item: View) -> Root:
    if isinstance(item.data, str):
        return Root(item.data, item.mark)
    return Root(item.text("name"), item.mark, None, item.span())


def _batch(view: View, findings: Findings) -> Batch:
    name, why = view.text("id"), view.text("why")
    return Batch(
        name,
        why,
        view.mark,
        "housekeeping" if view.text("kind") == "housekeeping" else "feature",
        _relation(view, "needs", findings),
        _relation(view, "follows", findings),
        _models(view),
        words=tuple(_words(view)),
        spared=tuple(_spared(view, findings)),
        # strict last match wins: a batch's keep is written last because it excepts from the others
        rules=(
            *_rules(view, "remove", name, findings),
            *_rules(view, "prune", name, findings),
            *_rules(view, "keep", name, findings),
        ),
        facts=tuple(_facts(view.at("facts"), name, findings)),
        options=tuple(_options(view.at("facts"), name, findings)),
        configuration=_configuration(view.at("facts")),
        absent=tuple(_absent(view.at("absent"), name)),
        edits=(
            *_named_edits(view, "drop", name, why),
            *_named_edits(view, "stub", name, why),
            *(edit for item in view.items("edits") for edit in _edits(item, name, why, findings)),
        ),
        files=tuple(_file(item, name, why, findings) for item in view.items("files")),
        patches=tuple(_patch(item, name, findings) for item in view.items("patches")),
        toml=tuple(_toml(item, name, why, findings) for item in view.items("toml")),
        anchored=tuple(_anchored(item, name, why, findings) for item in view.items("anchored")),
    )


def _relation(view: View, key: str, findings: Findings) -> tuple[tuple[str, Mark], ...]:
    """The ids of batches that stand under `key`, each with its place."""
    return tuple((findings.batch(item), item.mark) for item in view.alone().items(key))


def _models(view: View) -> tuple[Models, ...]:
    """What is stated under `models`: a list of model files and others, or one name of architectures."""
    stated = view.at("models")
    if isinstance(stated.data, str):
        return (Models(stated.data, stated.mark, kind="architectures"),)
    return tuple(map(_model, view.items("models")))


def _model(item: View) -> Models:
    optional, span = item.optional_text("optional"), item.span()
    if item.has("architectures"):
        name = item.at("architectures")
        return Models(item.text("architectures"), name.mark, optional, "architectures", span)
    if item.has("defines"):
        return Models(item.text("defines"), item.at("defines").mark, optional, "defines", span)
    if item.has("parameter"):
        return Models(item.text("parameter"), item.at("parameter").mark, optional, "parameter", span)
    named = item.one("name")
    return Models(named.word, named.mark, optional, span=span)


def _words(view: View) -> Iterator[Word]:
    for item in view.items("words"):
        word = item.one("word")
        if word.word:
            yield Word(word.word, word.mark, item.optional_text("optional"), item.span())


def _spared(view: View, findings: Findings) -> Iterator[Spared]:
    for item in view.items("except"):
        kind: Literal["path", "name"] = "path" if item.has("path") else "name"
        pattern = findings.pattern(item.at("path")) if kind == "path" else item.text("name")
        text, optional = item.optional_text("text"), item.optional_text("optional")
        yield Spared(kind, pattern, item.text("why"), item.mark, text, optional, item.span())


def _rules(view: View, key: str, batch: str, findings: Findings) -> Iterator[Rule]:
    verdict: _Verdict = "remove" if key == "remove" else "prune" if key == "prune" else "keep"
    for item in view.items(key):
        pattern = item.one("path")
        text, optional = findings.pattern(pattern, decides=True), item.optional_text("optional")
        defines = item.optional_text("defines")
        yield Rule(text, verdict, batch, pattern.mark, optional, item.span(), defines=defines)


def _facts(view: View, batch: str, findings: Findings) -> Iterator[Fact]:
    kinds: tuple[tuple[str, FactKind], ...] = (
        ("predicates", "predicate"),
        ("values", "value"),
        ("environment", "environment"),
    )
    for key, kind in kinds:
        for name, value in view.entries(key):
            yield _fact(kind, name, value, batch, findings)
    for function, keywords in view.entries("defaults"):
        for keyword, value in keywords.pairs():
            yield _fact("default", f"{function}:{keyword}", value, batch, findings)
    lists: tuple[tuple[str, FactKind, bool], ...] = (
        ("attributes", "attribute", False),
        ("pure", "pure", True),
        ("environment_readers", "environment-reader", True),
        ("quiet_imports", "quiet-import", True),
        ("declarations", "declaration", True),
        ("bases", "base", True),
    )
    for key, kind, truth in lists:
        for item in view.items(key):
            stated = item.one("name")
            optional, models = item.optional_text("optional"), _models(item)
            for name in stated.words:
                yield Fact(kind, name, truth, stated.mark, batch, True, optional, models, item.span())
    for item in view.items("registries"):
        keys = ("key", "target", "registered_by", "held_by")
        told = " ".join([*map(item.text, keys), *item.texts("asked_by")])
        optional, span = item.optional_text("optional"), item.span()
        yield Fact("registry", item.text("row"), told, item.mark, batch, True, optional, (), span)


def _fact(kind: FactKind, name: str, view: View, batch: str, findings: Findings) -> Fact:
    mark = view.document.keys.get(view.path, view.mark)
    stated = view.one("value")
    value = findings.scalar(stated, doubtful=True)
    exact = not (stated.plain and value in TRUTH)
    if not exact:
        value = TRUTH[str(value)]
    optional, models = view.optional_text("optional"), _models(view)
    return Fact(kind, name, value, mark, batch, exact, optional, models, view.span())


def _options(view: View, batch: str, findings: Findings) -> Iterator[Option]:
    for item in view.items("options"):
        values = tuple(findings.scalar(value) for value in item.items("absent"))
        yield Option(
            item.texts("names"),
            values,
            item.mark,
            batch,
            item.optional_text("optional"),
            item.at("removed_models").data is True,
            item.texts("among"),
            item.texts("parts"),
            _models(item),
            item.span(),
        )


def _configuration(view: View) -> Configuration | None:
    stated = view.at("configuration")
    if not view.has("configuration"):
        return None
    objects = tuple((item.one("name").word, item.texts("in")) for item in stated.items("objects"))
    of, types, keys = map(stated.texts, ("of", "types", "keys"))
    return Configuration(of, types, objects, keys, stated.mark)


def _absent(view: View, batch: str) -> Iterator[Absent]:
    kinds: tuple[tuple[str, Literal["module", "symbol"]], ...] = (
        ("modules", "module"),
        ("symbols", "symbol"),
    )
    for key, kind in kinds:
        for item in view.items(key):
            name, optional, models = item.one("name"), item.optional_text("optional"), _models(item)
            for word in name.words:
                yield Absent(kind, word, name.mark, batch, optional, models, item.span())


def _named_edits(view: View, kind: Literal["drop", "stub"], batch: str, why: str) -> Iterator[Edit]:
    for item in view.items(kind):
        name = item.one("name")
        for word in name.words:
            yield Edit(
                kind,
                word,
                name.mark,
                batch,
                item.text("why") or why,
                count=item.count(),
                optional=item.optional_text("optional"),
                models=_models(item),
                span=item.span(),
            )


def _edits(view: View, batch: str, why: str, findings: Findings) -> Iterator[Edit]:
    """One edit for each of the names that stand under `in` or `body`; they share a mark."""
    edit = replace(_edit(view, batch, why, findings), models=_models(view), span=view.span())
    names = view.at("body" if edit.kind == "body" else "in").words
    for name in names if edit.kind != "set" else (edit.target,):
        yield replace(edit, target=name)


def _edit(view: View, batch: str, why: str, findings: Findings) -> Edit:
    reason, count, optional = view.text("why") or why, view.count(), view.optional_text("optional")
    scope = view.text("in")
    if view.has("set"):
        value = findings.expression(view.at("to"))
        return Edit("set", view.text("set"), view.mark, batch, reason, None, value, count, optional)
    if view.has("drop_import"):
        match = view.text("drop_import")
        return Edit("drop-import", scope, view.mark, batch, reason, match, None, count, optional)
    if view.has("add_import"):
        match = view.text("add_import")
        return Edit("add-import", scope, view.mark, batch, reason, match, None, count, optional)
    if view.has("drop_entry"):
        match = view.text("drop_entry")
        return Edit("drop-entry", scope, view.mark, batch, reason, match, None, count, optional)
    if view.has("drop_statement"):
        match = findings.statement(view.at("drop_statement"))
        return Edit("drop-statement", scope, view.mark, batch, reason, match, None, count, optional)
    if view.has("replace"):
        match, by = findings.value(view.at("replace")), findings.value(view.at("by"))
        return Edit("replace", scope, view.mark, batch, reason, match, by, count, optional)
    if view.has("reword"):
        phrase, words = view.text("reword"), view.text("by")
        return Edit("reword", scope, view.mark, batch, reason, phrase, words, count, optional)
    overlay = findings.overlay(view.at("from"))
    return Edit("body", view.text("body"), view.mark, batch, reason, None, overlay, count, optional)


def _file(view: View, batch: str, why: str, findings: Findings) -> WholeFile:
    return WholeFile(
        findings.path(view.at("path")),
        findings.overlay(view.at("from")),
        view.texts("preimage"),
        view.mark,
        batch,
        view.text("why") or why,
        view.optional_text("optional"),
        view.has("tables"),
        {name: stated.word for name, stated in view.entries("definitions")},
        view.span(),
    )


def _patch(view: View, batch: str, findings: Findings) -> Patch:
    overlay = findings.overlay(view.at("from"))
    return Patch(overlay, view.text("why"), view.mark, batch, view.optional_text("optional"), view.span())


def _toml(view: View, batch: str, why: str, findings: Findings) -> TomlEdit:
    ops: tuple[Literal["remove", "set", "add"], ...] = ("remove", "set", "add")
    op = next((o for o in ops if view.has(o)), ops[0])
    return TomlEdit(
        findings.path(view.at("file")),
        op,
        view.text(op),
        view.at("value").data,
        view.mark,
        batch,
        view.text("why") or why,
        view.optional_text("optional"),
        view.optional_text("by"),
        view.at("unused").data is True,
        _models(view),
        view.span(),
    )


def _anchored(view: View, batch: str, why: str, findings: Findings) -> AnchoredEdit:
    kinds: tuple[Literal["statement", "command", "argument", "block", "replace"], ...]
    kinds = ("statement", "command", "argument", "block", "replace")
    kind = next((k for k in kinds if view.has(k)), kinds[0])
    return AnchoredEdit(
        findings.path(view.at("file")),
        kind,
        view.text(kind),
        view.mark,
        batch,
        view.text("why") or why,
        view.optional_text("by"),
        view.count(),
        view.optional_text("optional"),
        view.span(),
    )


def _guarantees(view: View, findings: Findings) -> Guarantees:
    past: dict[str, list[View]] = {}  # pattern -> exceptions that the history adds
    for added in (item for other in view.others for item in other.items("absent_text")):
        past.setdefault(added.text("pattern"), []).extend(added.items("except"))
    absent = []
    everywhere = [
        # it says what left by name: which of the patterns that meets depends on what left
        TextException(findings.pattern(e.at("path")), None, e.text("why"), e.mark, e.text("why"))
        for e in view.alone().items("except")
    ]
    for item in view.alone().items("absent_text"):
        exceptions = list(everywhere)
        for exception in (*item.items("except"), *past.get(item.text("pattern"), ())):
            text = exception.optional_text("text")
            why, optional = exception.text("why"), exception.optional_text("optional")
            for one in exception.at("path").several():
                path = findings.pattern(one)
                exceptions.append(TextException(path, text, why, exception.mark, optional, exception.span()))
        paths = tuple(findings.pattern(path) for path in item.items("in"))
        pattern = findings.regex(item.at("pattern"))
        batches = tuple(name for batch in item.items("batches") if (name := findings.batch(batch)))
        absent.append(AbsentText(pattern, paths, item.mark, tuple(exceptions), batches))
    present = tuple((item.word, item.mark) for item in view.items("present"))
    kept = (
        KeptDependency(
            item.text("name"), item.text("why"), item.mark, item.optional_text("optional"), item.span()
        )
        for item in view.items("dependencies")
    )
    return Guarantees(tuple(absent), present, tuple(kept), tuple(everywhere))


def _kernel(view: View, reasons: Mapping[str, str], findings: Findings) -> Kernel:
    rules = []
    for item in view.items("remove"):
        batch = findings.batch(item.at("batch")) or None
        text = findings.pattern(item.at("path"), decides=True)
        why = item.text("why") or reasons.get(batch or "", "")
        rules.append(WheelRule(text, why, item.mark, batch, item.optional_text("optional"), item.span()))
    kept = []
    for item in view.at("architectures").items("keep"):
        name = item.one("name")
        kept.append(Architecture(name.word, name.mark, item.optional_text("optional"), item.span()))
    return Kernel(view.texts("distributions"), view.mark, tuple(rules), tuple(kept))
