# SPDX-License-Identifier: Apache-2.0
"""Parameter archives, with IREE's own runtime."""

import json
import pathlib
import tempfile
import unittest

import iree.runtime as iree
import ml_dtypes
import numpy as np
from safetensors import numpy as safetensors

import zoetrope_program as zoetrope


def metadata(array):
    """As iree-turbine describes the torch tensor with this content."""
    kind = array.dtype
    floating = kind == ml_dtypes.bfloat16 or np.issubdtype(kind, np.floating)
    description = {
        "type": "Tensor",
        "dtype": kind.name,
        "shape": list(array.shape),
        "dtype_desc": {
            "class_name": "dtype",
            "is_complex": False,
            "is_floating_point": floating,
            "is_signed": floating or np.issubdtype(kind, np.signedinteger),
            "itemsize": kind.itemsize,
        },
    }
    return f"PYTORCH:{json.dumps(description)}"


def write(path, tensors):
    index = iree.ParameterIndex()
    for name, array in tensors.items():
        index.add_buffer(name, array.tobytes(), metadata=metadata(array))
    index.create_archive_file(str(path))


class Irpa(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def read(self, path):
        index = iree.ParameterIndex()
        index.load(str(path))
        return index.items()

    def test_iree_reads_what_we_write(self):
        source = zoetrope.TINY / "wan_2.1_vae.safetensors"
        zoetrope.convert(source, self.folder / "ours.irpa")
        expected = zoetrope.load(source)
        entries = self.read(self.folder / "ours.irpa")
        self.assertEqual([name for name, _ in entries], list(expected))
        for name, entry in entries:
            array = iree.parameter_index_entry_as_numpy_ndarray(entry)
            self.assertTrue(zoetrope.same(array, expected[name]), name)
            self.assertEqual(entry.file_storage[1] % 64, 0)

    def test_iree_writes_the_same_bytes(self):
        samples = zoetrope.samples()
        samples["u8"] = np.arange(3, dtype=np.uint8)
        samples["yes"] = np.array([True, False])
        safetensors.save_file(samples, self.folder / "samples.safetensors")
        safetensors.save_file({}, self.folder / "nothing.safetensors")
        sources = [
            zoetrope.TINY / "wan_2.1_vae.safetensors",
            zoetrope.TINY / "wan_2.1_vae_bf16.safetensors",
            self.folder / "samples.safetensors",
            self.folder / "nothing.safetensors",
        ]
        for source in sources:
            zoetrope.convert(source, self.folder / "ours.irpa", "-y")
            write(self.folder / "theirs.irpa", zoetrope.load(source))
            self.assertEqual((self.folder / "ours.irpa").read_bytes(),
                             (self.folder / "theirs.irpa").read_bytes(), source)

    def test_we_read_what_iree_writes(self):
        samples = zoetrope.samples()
        del samples["bf16"]  # iree.runtime has no name for it
        index = iree.ParameterIndex()
        for name, array in samples.items():
            iree.parameter_index_add_numpy_ndarray(index, name, array)
        index.add_buffer("__SHARK_DATASET__", b"{}")
        splat = np.full((2, 3), 1.5, np.float32)
        index.add_splat("splat", splat[0, :1], splat.nbytes, metadata=metadata(splat))
        index.create_archive_file(str(self.folder / "theirs.irpa"))
        zoetrope.convert(self.folder / "theirs.irpa", self.folder / "ours.safetensors")
        found = zoetrope.load(self.folder / "ours.safetensors")
        samples["splat"] = splat
        samples["__SHARK_DATASET__"] = np.frombuffer(b"{}", np.uint8)
        self.assertEqual(found.keys(), samples.keys())
        for name, array in samples.items():
            self.assertTrue(zoetrope.same(found[name], array), name)

    def test_archives_without_shapes_are_named(self):
        iree.save_archive_file({"w": np.ones(4, np.float32)}, self.folder / "theirs.irpa")
        done = zoetrope.run("convert", self.folder / "theirs.irpa", "-o", self.folder / "o.gguf")
        self.assertEqual(done.returncode, 4)
        self.assertIn("none of its 1 tensors has a type and shape", done.stderr)


if __name__ == "__main__":
    unittest.main()
