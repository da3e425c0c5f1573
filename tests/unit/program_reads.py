"""Reads: defaults of every type, texts that only look like a variable, conditions that use things up."""

from __future__ import annotations

from program_writer import Shape, Writer

_DEFAULTS = (
    "0", "1", "-1", "0.5", "2.0", "''", "'on'", "b'raw'", "1j", "...", "None", "True", "()", "[1]",
    "{'k': 1}", "'a' 'b'", "f'{x}'", "str(3)", "x", "not x", "echo('default')", "lambda: 1",
    "(1 if y else 2)",
)  # fmt: skip
_PLAIN = tuple(d for d in _DEFAULTS if "x" not in d and "y" not in d and "lambda" not in d)


def _default(p: Writer) -> str:
    return p.random.choice(_PLAIN if p.outside else [d for d in _DEFAULTS if "lambda" not in d])


def defaults(p: Writer, depth: int) -> None:
    """What is not there, with a default."""
    default = _default(p)
    reads = [
        f"getattr(torch, 'npu', {default})",
        f"os.environ.get('UNSET_FLAG', {default})",
        f"os.environ.get('UNSET_FLAG') or {default}",
        f"get_bool_env_var('UNSET_FLAG', {default})",
        f"get_bool_env_var('UNSET_FLAG', default={default})",
        "get_bool_env_var('UNSET_FLAG')",
        f"get_int_env_var('UNSET_FLAG', {default})",
        f"getenv('UNSET_FLAG', {default})",
        f"getenv('UNSET_FLAG', default={default})",
        f"getenv(name='UNSET_FLAG', default={default})",
        f"getenv('UNSET_FLAG', *[{default}])",
        f"getenv('UNSET_FLAG', **{{'default': {default}}})",
        f"envs.UNSET_FLAG({default}).get()",
        f"framework.Variable('UNSET_FLAG', {default}).get()",
        "os.environ.get('UNSET_FLAG')",
        "'UNSET_FLAG' in os.environ",
    ]
    read = p.random.choice(reads)
    form = p.random.randrange(3)
    if form == 0:
        p.put(depth, f"record({read})")
    elif form == 1:
        p.put(depth, f"if {read}: {p.tag()}")
        p.put(depth, f"else: {p.tag()}")
    else:
        p.put(depth, f"record([1, {read}, 'k' if {read} else 'm'])")


def no_variable(p: Writer, depth: int) -> None:
    """Something else that is read by the text of a variable."""
    owner, asked = p.random.choice(
        [
            ("{'UNSET_FLAG': 'set'}", ".get('UNSET_FLAG')"),
            ("{'UNSET_FLAG': 'set'}", ".get('UNSET_FLAG', 0)"),
            ("{'UNSET_FLAG': 'set'}", ".pop('UNSET_FLAG')"),
            ("{'UNSET_FLAG': 'set'}", ".pop('UNSET_FLAG', None)"),
            ("dict(os.environ, UNSET_FLAG='set')", ".get('UNSET_FLAG')"),
            ("types.SimpleNamespace(headers={'UNSET_FLAG': 1})", ".headers.get('UNSET_FLAG')"),
            ("types.SimpleNamespace(UNSET_FLAG=framework.Counter())", ".UNSET_FLAG.get()"),
            ("framework.Counter()", ".get('UNSET_FLAG')"),
            ("framework.Counter()", ".getenv('UNSET_FLAG', 0)"),
            ("collections.ChainMap({'UNSET_FLAG': 4})", ".get('UNSET_FLAG')"),
        ]
    )
    name = p.own("table")
    p.put(depth, f"{name} = {owner}")
    p.put(depth, f"if {name}{asked}: {p.tag()}" if p.chance(0.5) else f"record({name}{asked})")
    if owner.startswith("{"):
        p.put(depth, f"record({name})")


#: What uses up an iterator.
_ITERATING = (
    "any(v == 1 for v in {n})", "all(v > 2 for v in {n})", "[v for v in {n} if v > 1]",
    "{{v: 1 for v in {n}}}", "{{v for v in {n}}} == {{3}}", "sum({n})", "max({n}) > 2", "max(0, *{n})",
    "1 in {n}", "[*{n}]", "len([*{n}]) == 4", "next({n})", "list(zip({n}, 'ab'))", "(lambda v: list(v))({n})",
)  # fmt: skip
#: What is used up, how, and what is left of it.
_USES = (
    *(("iter([3, 1, 2, 4])", use, "list({n})") for use in _ITERATING),
    ("map(abs, [1, 2])", "any({n})", "list({n})"),
    ("iter([3, 1, 2, 4])", "any(framework.same({n}))", "list({n})"),
    # only `get` without a text: `len` and the methods of texts and mappings have no effect
    ("framework.Counter()", "{n}.get()", "{n}.calls"),
    ("[1, 2, 3]", "{n}.pop()", "{n}"),
    ("{{'a': 1}}", "{n}.setdefault('b', 2)", "{n}"),
    ("collections.defaultdict(list)", "{n}['k'] == 3", "sorted({n})"),
)


def used_up(p: Writer, depth: int) -> None:
    """A condition that uses up an iterator or changes an object, beside a known one."""
    name = p.own("it")
    owner, use, rest = p.random.choice(_USES)
    use, rest, owner = use.format(n=name), rest.format(n=name), owner.format()
    p.put(depth, f"{name} = {owner}")
    p.write(
        depth,
        p.random.choice(
            [
                f"if {use} and {p.dead()}: {p.tag()}",
                f"if {use} and {p.open()} and {p.dead()}: {p.tag()}",
                f"if {p.sure()} or {use}: {p.tag()}",
                f"record(bool({use} and {p.dead()}))",
                f"if ({use} or {p.sure()}): {p.tag()}",
                f"while {use} and {p.dead()}: break",
                f"assert {use} or {p.sure()}",
                f"record(1 if {use} and {p.dead()} else 2)",
                f"record([v for v in (1, 2) if {use} and {p.dead()}])",
                f"if {use} and {p.dead()}: {p.tag()}\nelif {p.dead()} and {use}: {p.tag()}",
            ]
        ),
    )
    p.put(depth, f"record({rest})")


#: Effects beside an absent value, and what stays of them.
_LOST = (
    "{name} = {{{entries}}}\nrecord({name}['triton'])",
    "{name} = [({gone}, record(1)), ('triton', record(2))]\nrecord({name}[-1])",
    "register_backend({gone}, record(1))\nregister_backend('triton', record(2))",
    "unregister_backend({gone})\nrecord(len(BACKENDS))",
    "@register_backend({gone}, record(1))\n@register_backend('other')\ndef {name}(): return 1\n"
    "record(sorted(BACKENDS))",
    "{name} = {{'k': Gone, 'm': echo(1)}}\nrecord({name}['m'])",
    "{name} = [(Gone, record(1)), (int, record(2))]\nrecord({name}[-1][1])",
    "if echo(backend_of(x)) == {gone}: <tag>",
)


def lost_effects(p: Writer, depth: int) -> None:
    """Effects inside what leaves with an absent value."""
    name = p.own("backend_map")
    gone = p.pick("'fa3'", "'fa4'")
    form = p.pick(*_LOST)
    entries = [f"{gone}: record(1)", "'triton': record(2)", "echo('other'): 3"]
    if "{entries}" in form:
        p.random.shuffle(entries)
    if "(x)" in form and p.outside:
        form = "<tag>"
    p.write(depth, form.format(name=name, gone=gone, entries=", ".join(entries)))


def failing_imports(p: Writer, depth: int) -> None:
    """An import that fails, of what only code names that is never reached."""
    name = p.own("missing")
    p.put(depth, f"try: from {p.pick('framework', 'framework_over')} import {name}")
    p.put(depth, f"except {p.pick('ImportError', 'Exception')}: {name}_flag = 'failed'")
    p.put(depth, f"else: {name}_flag = 'imported'")
    p.put(depth, f"if {p.dead()}: {name}()")
    p.put(depth, f"record({name}_flag)")


def parts_of_text(p: Writer, depth: int) -> None:
    """An absent value as a part of a longer text, and beside others in one."""
    name, value = p.own("backend_text"), p.pick("fa3", "fa4")
    p.put(depth, f"{name} = '{p.pick('', 'x')}{value}{p.pick('', '_mla', ',triton')}x'")
    p.put(
        depth,
        p.pick(
            f"record('{value}' in {name})",
            f"record('{value}' not in {name})",
            f"if '{value}' in {name}: {p.tag()}",
            f"record({name}.startswith('{value}'))",
            f"record([v for v in {name}.split(',') if '{value}' in v])",
        ),
    )


TOP: tuple[Shape, ...] = (
    defaults, defaults, no_variable, used_up, lost_effects, failing_imports, parts_of_text,
)  # fmt: skip
INSIDE: tuple[Shape, ...] = (
    defaults, no_variable, used_up, used_up, lost_effects, failing_imports, parts_of_text,
)  # fmt: skip
