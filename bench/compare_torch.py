#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Zoetrope beside PyTorch on the same job, type, threads and made-up weights.

Both results are compared first. Then both run in turn, each in a process of its own, and the
medians and their ratio are printed.

examples:
  bench/compare_torch.py encode --frames 17 --size 256x256 --dtype bfloat16 --repetitions 3
  bench/compare_torch.py decode --dtype float32 --whole --channels-last
  bench/compare_torch.py decode --device cuda --size 512x512 --whole --channels-last --compile
  bench/compare_torch.py encode --output docs/performance/torch.jsonl     (appends a JSON line)

needs: numpy and torch, best in a virtual environment, and the tool (make build):
  python3 -m venv ../torch && ../torch/bin/pip install torch numpy
  ../torch/bin/python bench/compare_torch.py encode
PyPI's torch for x86-64 Linux has CUDA in it and runs on CPUs just as well.

PyTorch runs the model as published: chunks of 1, 4, 4, ... frames and a cache in front of each
causal conv, channels first, eager. --whole, --channels-last and --compile change one of these each.
Peak memory is what the runs needed: resident memory on a CPU, allocated memory on a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from typing import Any, Self

import measurement
import numpy as np

GOLDEN_ERRORS = measurement.ROOT / "tests/data/golden/naive.json"
TYPE_NAMES = {"float32": "float32", "bfloat16": "bf16", "float16": "fp16"}  # in that file
DEVICE_MEMORY = "device_allocated_bytes"  # in the context of the tool's results
WORKER = pathlib.Path(__file__).with_name("torch_worker.py")


class TorchProcess:
    """torch_worker.py; ends with the `with` block."""

    def __init__(self, job: dict[str, Any]):
        command = [sys.executable, str(WORKER), json.dumps(job)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.versions: dict[str, str] = self.read()["versions"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def run(self) -> dict[str, float]:
        assert self.process.stdin is not None
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        return self.read()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            sys.exit("error: PyTorch's process ended early; what it said is above")
        return json.loads(line)


class Zoetrope:
    def __init__(self, binary: str, job: dict[str, Any]):
        self.binary = binary
        self.job = job
        self.options = [
            f"--weights=random:{job['base_dim']}:{job['seed']}",
            f"--dtype={job['dtype']}",
            f"--device={job['device']}",
            f"--threads={job['threads']}",
            "--quiet",
        ]

    def version(self) -> str:
        return self.call("--version").split()[-1]

    def result(self) -> np.ndarray:
        """Of the same input as PyTorch's."""
        folder = pathlib.Path(self.job["folder"])
        output = folder / "zoetrope.npy"
        extra = ["--range=signed"] if self.job["coding"] == "encode" else ["--no-clamp"]
        source = str(folder / "input.npy")
        self.call(self.job["coding"], source, "-o", str(output), *extra, *self.options)
        return np.load(output)

    def run(self) -> dict[str, float]:
        job = self.job
        size = f"--size={job['width']}x{job['height']}"
        counts = [f"--frames={job['frames']}", "--repetitions=1"]
        # As PyTorch: tensors on the device, kernels loaded.
        where = ["--warmup=0"] if on_cpu(job) else ["--warmup=1", "--tensors=device"]
        text = self.call("bench", job["coding"], size, *counts, *where, "--json=-", *self.options)
        result = json.loads(text)
        row = result["benchmarks"][0]
        memory = row["peak_resident_bytes"] if on_cpu(job) else result["context"][DEVICE_MEMORY]
        return {
            "seconds": row["real_time"] / 1e3,
            "peak_memory": memory,
            "share_of_peak": row["share_of_peak"],
        }

    def call(self, *arguments: str) -> str:
        command = [self.binary, *arguments]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        except OSError as error:
            sys.exit(f"error: --zoetrope {self.binary}: {error.strerror}; `make build` makes it")
        if done.returncode != 0:
            sys.exit(f"error: {self.binary} {arguments[0]} failed; what it said is above")
        return done.stdout


def on_cpu(job: dict[str, Any]) -> bool:
    return job["device"] == "cpu"


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The root mean square of the difference, relative to that of the values."""
    if ours.shape != theirs.shape:
        sys.exit(f"error: Zoetrope's result is {ours.shape}, PyTorch's {theirs.shape}")
    squares = np.mean(np.square(ours.astype(np.float64) - theirs))
    return float(np.sqrt(squares / np.mean(np.square(theirs.astype(np.float64)))))


def allowed_difference(job: dict[str, Any]) -> float:
    """Zoetrope may have twice the error of a naive computation in this type, PyTorch is one."""
    errors = json.loads(GOLDEN_ERRORS.read_text(encoding="utf-8")).values()
    output = "decoded" if job["coding"] == "decode" else "latent"
    return 3 * max(case[TYPE_NAMES[job["dtype"]]][output]["rms"] for case in errors)


def check(zoetrope: Zoetrope, job: dict[str, Any]) -> dict[str, float]:
    theirs = np.load(pathlib.Path(job["folder"]) / "output.npy")
    found, allowed = difference(zoetrope.result(), theirs), allowed_difference(job)
    if not found <= allowed:
        sys.exit(f"error: results differ by {found:.3g} rms, {allowed:.3g} is allowed")
    return {"rms": found, "allowed": allowed}


def side(seconds: list[float], peak_memory: list[float]) -> dict[str, Any]:
    return {
        "seconds": seconds,
        "median_seconds": statistics.median(seconds),
        "peak_memory_bytes": int(max(peak_memory)),
    }


def compare(job: dict[str, Any], binary: str, repetitions: int) -> dict[str, Any]:
    zoetrope = Zoetrope(binary, job)
    with TorchProcess(job) as torch:
        agreement = check(zoetrope, job)
        turns = [(torch.run(), zoetrope.run()) for _ in range(repetitions)]
    theirs, ours = zip(*turns, strict=True)
    their_side = side([run["seconds"] for run in theirs], [run["peak_memory"] for run in theirs])
    our_side = side([run["seconds"] for run in ours], [run["peak_memory"] for run in ours])
    our_side["share_of_peak"] = statistics.median(run["share_of_peak"] for run in ours)
    ratios = [run["seconds"] / mine["seconds"] for run, mine in turns]
    return {
        "versions": {"zoetrope": zoetrope.version(), **torch.versions},
        "difference": agreement,
        "torch": their_side,
        "zoetrope": our_side,
        "times_as_fast": statistics.median(ratios),
    }


def print_table(job: dict[str, Any], result: dict[str, Any]) -> None:
    size = f"{job['frames']}x{job['width']}x{job['height']}"
    versions = result["versions"]
    print(f"{job['coding']} {size}, {job['dtype']}, {job['device']}, {job['threads']} threads")
    found, allowed = result["difference"]["rms"], result["difference"]["allowed"]
    print(f"results differ by {found:.2g} rms, {allowed:.2g} is allowed\n")
    print(f"{'':<18}{'median s':>10}{'frames/s':>10}{'peak MiB':>10}")
    for name in ("torch", "zoetrope"):
        seconds, memory = result[name]["median_seconds"], result[name]["peak_memory_bytes"]
        rates = f"{seconds:>10.3f}{job['frames'] / seconds:>10.2f}{memory / 2**20:>10.0f}"
        print(f"{name + ' ' + versions[name]:<18}{rates}")
    print(f"\nZoetrope is {result['times_as_fast']:.2f} times as fast")


def measured_command(arguments: list[str]) -> str:
    """Without where the line goes."""
    words = []
    for before, word in zip(["", *arguments], arguments):
        if before != "--output" and word.partition("=")[0] != "--output":
            words.append(word)
    return measurement.command_line(words)


def parse_size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    try:
        return int(width), int(height)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: expected WIDTHxHEIGHT") from None


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("coding", choices=["encode", "decode"])
    add("--frames", type=int, default=17, help="of the video, 4 k + 1 (17)")
    add("--size", type=parse_size, default=(256, 256), help="of the video (256x256)")
    add("--dtype", choices=list(TYPE_NAMES), default="bfloat16", help="(bfloat16)")
    add("--device", default="cpu", help="cpu, cuda or cuda:N (cpu)")
    add("--threads", type=int, default=os.cpu_count(), help="of each side (one per core)")
    add("--repetitions", type=int, default=3, help="turns (3)")
    add("--base-dim", type=int, default=96, help="channels of the widest level's unit (96)")
    add("--seed", type=int, default=0, help="of weights and input (0)")
    add("--whole", action="store_true", help="PyTorch: all frames in one pass, no cache")
    add("--channels-last", action="store_true", help="PyTorch: weights and input channels last")
    add("--compile", action="store_true", help="PyTorch: through torch.compile")
    add("--zoetrope", default="build/release/cli/zoetrope", help="(build/release/cli/zoetrope)")
    add("--output", type=pathlib.Path, help="file that gets a JSON line more")
    return parser.parse_args()


def main() -> None:
    options = parse_arguments()
    names = ("coding", "frames", "dtype", "device", "threads", "base_dim", "seed")
    job = {name: getattr(options, name) for name in (*names, "whole", "channels_last", "compile")}
    job["width"], job["height"] = options.size
    load = os.getloadavg()
    with tempfile.TemporaryDirectory() as folder:
        result = compare({**job, "folder": folder}, options.zoetrope, options.repetitions)
    print_table(job, result)
    if options.output is None:
        return
    heading = {
        "kind": "torch",
        "command": measured_command(sys.argv),
        "commit": measurement.commit(),
        "machine": measurement.machine(job["device"]),
        "context": {"load_avg": load},
    }
    measurement.append(options.output, {**heading, "job": job, **result})


if __name__ == "__main__":
    main()
