# SPDX-License-Identifier: Apache-2.0
"""GGUF, with ggml's own package."""

import pathlib
import tempfile
import unittest

import gguf
import ml_dtypes
import numpy as np

import zoetrope_program as zoetrope

TYPES = {
    np.dtype(np.float32): gguf.GGMLQuantizationType.F32,
    np.dtype(np.float16): gguf.GGMLQuantizationType.F16,
    np.dtype(ml_dtypes.bfloat16): gguf.GGMLQuantizationType.BF16,
}


def shape_in_file(array):
    """Four axes at most: the first ones multiplied together."""
    if array.ndim <= 4:
        return array.shape
    return (-1, *array.shape[array.ndim - 3:])


def write(path, tensors, architecture):
    """As `convert` does, with the package: shapes of more than four axes are kept in keys."""
    writer = gguf.GGUFWriter(path, architecture)
    for name, array in tensors.items():
        if array.ndim > 4:
            writer.add_array(f"comfy.gguf.orig_shape.{name}", list(array.shape))
        raw = None
        array = array.reshape(shape_in_file(array))
        if array.dtype == ml_dtypes.bfloat16:  # the package knows it as bytes
            raw, array = TYPES[array.dtype], array.view(np.uint8)
        writer.add_tensor(name, array, raw_dtype=raw)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Gguf(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_the_package_reads_what_we_write(self):
        for source in "wan_2.1_vae.safetensors", "wan_2.1_vae_bf16.safetensors":
            expected = zoetrope.load(zoetrope.TINY / source)
            ours = self.folder / "ours.gguf"
            zoetrope.convert(zoetrope.TINY / source, ours, "-y")
            reader = gguf.GGUFReader(ours)
            self.assertEqual(reader.fields["general.architecture"].contents(), "wan-vae")
            self.assertEqual([tensor.name for tensor in reader.tensors], list(expected))
            for tensor in reader.tensors:
                array = expected[tensor.name]
                self.assertEqual(tensor.tensor_type, TYPES[array.dtype])
                self.assertEqual(tensor.data.tobytes(), array.tobytes())
                self.assertLessEqual(len(tensor.shape), 4)
                kept = reader.fields.get(f"comfy.gguf.orig_shape.{tensor.name}")
                if kept is not None:
                    self.assertEqual(tuple(kept.contents()), array.shape)
                else:
                    self.assertEqual(tuple(reversed(tensor.shape.tolist())), array.shape)

    def test_the_package_writes_the_same_bytes(self):
        for source in "wan_2.1_vae.safetensors", "wan_2.1_vae_bf16.safetensors":
            zoetrope.convert(zoetrope.TINY / source, self.folder / "ours.gguf", "-y")
            write(self.folder / "theirs.gguf", zoetrope.load(zoetrope.TINY / source), "wan-vae")
            self.assertEqual((self.folder / "ours.gguf").read_bytes(),
                             (self.folder / "theirs.gguf").read_bytes())

    def test_we_read_what_the_package_writes(self):
        samples = zoetrope.samples()
        del samples["empty"]  # the package divides by its size
        write(self.folder / "theirs.gguf", samples, "any")
        zoetrope.convert(self.folder / "theirs.gguf", self.folder / "ours.safetensors")
        found = zoetrope.load(self.folder / "ours.safetensors")
        self.assertEqual(found.keys(), samples.keys())
        for name, array in samples.items():
            self.assertTrue(zoetrope.same(found[name], array), name)

    def test_we_read_five_axes_and_many_keys(self):
        writer = gguf.GGUFWriter(self.folder / "theirs.gguf", "any")
        writer.add_string("general.name", "five")
        writer.add_array("tokens", ["a", "bc"])
        writer.add_array("scores", [1.5, 2.5])
        writer.add_bool("flag", True)
        writer.add_float64("double", 0.5)
        writer.add_custom_alignment(128)
        weight = zoetrope.samples()["conv.weight"]
        writer.add_tensor("conv.weight", weight)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        zoetrope.convert(self.folder / "theirs.gguf", self.folder / "ours.safetensors")
        found = zoetrope.load(self.folder / "ours.safetensors")
        self.assertTrue(zoetrope.same(found["conv.weight"], weight))

    def test_quantised_tensors_are_named(self):
        writer = gguf.GGUFWriter(self.folder / "q.gguf", "any")
        q8_0 = gguf.GGMLQuantizationType.Q8_0
        quantised = gguf.quants.quantize(np.ones((2, 64), np.float32), q8_0)
        writer.add_tensor("linear", quantised, raw_dtype=q8_0)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        done = zoetrope.run("convert", self.folder / "q.gguf", "-o", self.folder / "o.safetensors")
        self.assertEqual(done.returncode, 4)
        self.assertIn("tensor linear is Q8_0; expected F32, F16 or BF16", done.stderr)


if __name__ == "__main__":
    unittest.main()
