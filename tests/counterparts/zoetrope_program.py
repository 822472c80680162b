# SPDX-License-Identifier: Apache-2.0
"""Running the built program, and the checkpoints that tests convert."""

import os
import pathlib
import subprocess

import ml_dtypes
import numpy as np
from safetensors import numpy as safetensors

TINY = pathlib.Path(__file__).parents[1] / "data/golden/tiny"


def run(*words):
    """The program with these arguments, to its end."""
    command = [os.environ["ZOETROPE_PROGRAM"], *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def convert(source, output, *options):
    done = run("convert", source, "-o", output, "--quiet", *options)
    assert done.returncode == 0, done.stderr


def load(path):
    """The tensors of a safetensors file, in the order of their names."""
    return dict(sorted(safetensors.load_file(path).items()))


def samples():
    """An array of each type and kind of shape, by name."""
    values = np.arange(24, dtype=np.float32)
    return {
        "bf16": values[:6].reshape(3, 2).astype(ml_dtypes.bfloat16),
        "conv.bias": values[:4],
        "conv.weight": np.arange(4 * 3 * 3 * 3 * 3, dtype=np.float32).reshape(4, 3, 3, 3, 3),
        "empty": np.zeros((0, 3), np.float32),
        "f16": values.reshape(2, 3, 4).astype(np.float16),
        "f64": values.astype(np.float64) / 3,
        "i16": np.arange(-3, 3, dtype=np.int16),
        "i32": np.arange(-3, 3, dtype=np.int32),
        "i64": np.arange(-3, 3, dtype=np.int64),
        "i8": np.arange(-3, 3, dtype=np.int8),
        "scalar": np.array(7, np.float32),
    }


def same(a, b):
    """Of one type, shape and bytes."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
