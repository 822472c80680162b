#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom in src/, include/, cli/ and python/ (docs/architecture.md has the rules).

usage: tools/check_includes.py [ROOT]      exit status 1 and a line for each forbidden #include
"""
import pathlib
import re
import sys

# A folder may include itself, the folders named here, and what those may include.
MAY_INCLUDE = {
    "include": [],
    "base": ["include"],
    "checkpoint": ["base"],
    "media": ["checkpoint"],
    "graph": ["base"],
    "models": ["graph", "checkpoint"],
    "backend": ["graph"],
    "compiler": ["backend"],
    "cpu/kernels": ["base"],
    "cpu": ["backend", "cpu/kernels"],
    "cuda/ptx": ["base"],
    "cuda/kernels": ["cuda/ptx"],
    "cuda": ["backend", "cuda/kernels"],
    "runtime": ["models", "compiler", "cpu", "cuda"],
    "cli": ["include", "media"],
    "python": ["include"],
}

# Headers from outside that only some folders may include. The first pattern that matches counts.
LIBRARIES = [
    (r"hwy/targets\.h", {"cpu", "cpu/kernels"}, "what a CPU can do"),
    (r"hwy/", {"cpu/kernels"}, "Highway"),
    (r"lib(av|sw)\w+/", {"media"}, "FFmpeg"),
    (r"CLI/", {"cli"}, "CLI11"),
    (r"(sys/|unistd\.h|fcntl\.h|dlfcn\.h|pthread\.h|sched\.h)", {"base", "cli"}, "OS calls"),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".h", ".cc", ".cu", ".cuh", ".inc"}


def reachable(folder):
    found = {folder}
    for other in MAY_INCLUDE[folder]:
        found |= reachable(other)
    return found


def folder_of(path):
    """The folder of MAY_INCLUDE that holds `path` (relative to src/ or to the root), or None."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[0] == "zoetrope":
        return "include"
    nested = "/".join(parts[:2])
    return nested if nested in MAY_INCLUDE else parts[0] if parts[0] in MAY_INCLUDE else None


def refusal(folder, quote, header):
    """Why a file of `folder` may not include `header`; None if it may."""
    for pattern, folders, what in LIBRARIES:
        if re.match(pattern, header):
            allowed = " and ".join(sorted(folders))
            return None if folder in folders else f"only {allowed} may include {what}"
    if quote == "<":
        if folder == "include" and not re.fullmatch(r"\w+", header):
            return "public headers include nothing but each other and the standard library"
        return None
    if ".." in header.split("/") or "/" not in header:
        return "paths are rooted at src/ or include/, never relative"
    target = folder_of(header)
    if target is None:
        return "no folder of that name has a rule in tools/check_includes.py"
    if target not in reachable(folder):
        return f"{folder} may include only {', '.join(sorted(reachable(folder)))}"
    return None


def sources(root):
    for top in ("src", "include", "cli", "python"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SUFFIXES:
                yield path, "include" if top == "include" else folder_of(
                    path.relative_to(root / "src" if top == "src" else root).as_posix())


def check(root):
    """Lines "file:line: ...", one for each forbidden #include below `root`."""
    problems = []
    for path, folder in sources(root):
        name = path.relative_to(root).as_posix()
        if folder is None:
            problems.append(f"{name}:1: its folder has no rule in tools/check_includes.py")
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            why = match and refusal(folder, *match.groups())
            if why:
                problems.append(f"{name}:{number}: {folder} includes {match.group(2)}: {why}")
    return problems


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])
    if not (root / "src").is_dir():
        sys.exit(f"error: {root}: expected a folder with src/ in it\n{__doc__}")
    problems = check(root)
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
