# SPDX-License-Identifier: Apache-2.0
"""What every recorded measurement says about itself: command, machine, commit."""

from __future__ import annotations

import json
import os
import pathlib
import shlex
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent


def commit() -> str:
    """The commit that is checked out, with "-dirty" if tracked files differ from it; of a bundle
    the one that it was built from."""
    bundled = ROOT / "commit"
    if bundled.exists():
        return bundled.read_text(encoding="ascii").strip()
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(git, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def machine(device: str = "cpu") -> dict[str, Any]:
    """`device`: what was measured, "cpu" or "cuda" with anything behind it."""
    cpu = _fields("/proc/cpuinfo", ":")
    memory = _fields("/proc/meminfo", ":").get("MemTotal", "0").split()[0]
    system = _fields("/etc/os-release", "=").get("PRETTY_NAME", "").strip('"')
    found = {
        "processor": f"{cpu.get('model name', 'unknown')}, model {cpu.get('model', '?')}",
        "cores": os.cpu_count(),
        "memory_gib": round(int(memory) / 2**20, 1),
        "system": system,
    }
    return found if device.startswith("cpu") else {**found, "device": _gpu()}


def command_line(arguments: list[str]) -> str:
    """As typed in the root of the repository."""
    return shlex.join(argument.replace(f"{ROOT}/", "") for argument in arguments)


def append(path: pathlib.Path, record: dict[str, Any]) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
    except OSError as error:
        sys.exit(f"error: {path}: {error.strerror}")


def _gpu() -> str:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    done = subprocess.run(query, capture_output=True, text=True, check=False)
    name, _, driver = done.stdout.partition("\n")[0].partition(", ")
    return f"{name}, driver {driver}" if driver else "unknown GPU"


def _fields(path: str, separator: str) -> dict[str, str]:
    """Lines "name: value" of a file; of equal names the first."""
    fields: dict[str, str] = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        name, found, value = line.partition(separator)
        if found:
            fields.setdefault(name.strip(), value.strip())
    return fields
