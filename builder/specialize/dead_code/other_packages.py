"""Whether an object of the program may reach other code, which may call any of its methods."""

from __future__ import annotations

from collections.abc import Iterator

from builder.specialize.dead_code.class_statements import is_in_program
from builder.specialize.text_index.identifier_index import IdentifierIndex
from builder.specialize.text_index.outline import imports
from builder.specialize.world import SpecializerWorld

#: Methods of the standard library that call what methods they like of the object or class they are handed.
_CALLS_BY_NAME = (b"create_aggregate", b"create_window_function", b"register_instance")
#: What loads a module by a name, which no import statement shows.
_LOADS_BY_NAME = (
    b"import_module", b"__import__", b"entry_points", b"resolve_name", b"locate", b"exec", b"eval",
    b"spec_from_file_location", b"run_module", b"run_path", b"find_loader", b"load_module", b"exec_module",
)  # fmt: skip
#: Modules of Python's library that call of an object that they get only methods with two underscores and what
#: `DUCK_METHODS` lists; and the package that has parts of them for earlier versions of Python.
_LIBRARY = frozenset([
    "__future__", "abc", "argparse", "array", "ast", "base64", "binascii", "bisect", "builtins", "calendar",
    "cmath", "collections", "colorsys", "contextlib", "contextvars", "copy", "dataclasses", "datetime",
    "decimal", "difflib", "enum", "errno", "fnmatch", "fractions", "functools", "gc", "getpass", "glob",
    "hashlib", "heapq", "hmac", "html", "inspect", "itertools", "json", "keyword", "locale", "logging",
    "math", "numbers", "operator", "os", "pathlib", "platform", "pprint", "queue", "random", "re",
    "secrets", "shlex", "shutil", "signal", "stat", "statistics", "string", "struct", "subprocess", "sys",
    "sysconfig", "tempfile", "textwrap", "time", "token", "tokenize", "traceback", "types", "typing",
    "typing_extensions", "unicodedata", "uuid", "warnings", "weakref", "zlib", "zoneinfo",
])  # fmt: skip


def reaches_other_packages(world: SpecializerWorld, words: IdentifierIndex) -> bool:
    """May an object of the program reach code of others that may call any of its methods?

    An argument, an attribute or an item of theirs, what a function returns that they call: there are too many
    ways to follow an object on. So whoever imports such a package may hand it any object. Who takes from it
    only what a fact states of it hands it nothing.
    """
    if words.holding((*_CALLS_BY_NAME, *_LOADS_BY_NAME)):
        return True
    return any(_is_foreign(world, name) for data in world.files.values() for name in _imported(data))


def _imported(data: bytes) -> Iterator[str]:
    """The names of modules, and of what is taken from them, in the import statements of a file."""
    alias = False
    for _, module, taken in imports(data):
        if module.startswith("."):
            continue
        if not taken:  # `import a as b` comes as three of them
            if module != "as" and not alias:
                yield module
            alias = module == "as"
        for index, name in enumerate(taken):
            if name != "as" and taken[max(index - 1, 0)] != "as":
                yield f"{module}.{name}"


def _is_foreign(world: SpecializerWorld, name: str) -> bool:
    if name.partition(".")[0] in _LIBRARY or is_in_program(world, name):
        return False
    stated = name in world.facts.predicates or name in world.facts.values
    return not stated and world.module_gone(name) is None
