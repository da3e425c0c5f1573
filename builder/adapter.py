"""What the builder knows of the project that it was made for: its own names, and defaults for that project.

Nothing else in the builder names a project; a manifest states the rest of what is particular to one.
"""

from __future__ import annotations

#: The console script, the cache folder, and what marks an output folder as ours.
PROGRAM = "sglang-deepseek"

#: What the files that the builder writes say about who wrote them.
GENERATOR = f"{PROGRAM}-builder"

#: The environment variable that names a local git repository of this project, beside that for any project.
MIRROR = "SGLANG_MIRROR"

#: `roots.command_line` by default, below the first package.
SERVER_PARSER = "srt.server_args"

#: The name that a module of the models' package assigns its architectures to, unless the manifest names
#: tables of architectures.
ENTRY = "EntryClass"

#: Imported module -> distributions that may provide it, beside those that are known for every project.
DISTRIBUTIONS = {"sgl_kernel": ("sgl-kernel", "sglang-kernel")}
