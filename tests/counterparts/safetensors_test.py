# SPDX-License-Identifier: Apache-2.0
"""safetensors and diffusers folders, with the safetensors package."""

import json
import pathlib
import tempfile
import unittest

from safetensors import numpy as safetensors
from safetensors import safe_open

import zoetrope_program as zoetrope


class Safetensors(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_the_package_reads_what_we_write(self):
        expected = zoetrope.load(zoetrope.TINY / "wan_2.1_vae.safetensors")
        ours = self.folder / "ours.safetensors"
        zoetrope.convert(zoetrope.TINY / "Wan2.1_VAE.pth", ours)
        found = zoetrope.load(ours)
        self.assertEqual(found.keys(), expected.keys())
        for name, array in expected.items():
            self.assertTrue(zoetrope.same(found[name], array), name)
        with safe_open(ours, "np") as file:
            self.assertEqual(file.metadata(), {"format": "pt"})

    def test_we_read_what_the_package_writes(self):
        samples = zoetrope.samples()
        theirs = self.folder / "theirs.safetensors"
        safetensors.save_file(samples, theirs, {"k": "v"})
        zoetrope.convert(theirs, self.folder / "ours.safetensors")
        found = zoetrope.load(self.folder / "ours.safetensors")
        self.assertEqual(found.keys(), samples.keys())
        for name, array in samples.items():
            self.assertTrue(zoetrope.same(found[name], array), name)

    def test_diffusers_folder(self):
        ours, theirs = self.folder / "vae", zoetrope.TINY / "diffusers"
        zoetrope.convert(zoetrope.TINY / "Wan2.1_VAE.pth", f"{ours}/")
        weights = "diffusion_pytorch_model.safetensors"
        found, expected = zoetrope.load(ours / weights), zoetrope.load(theirs / weights)
        self.assertEqual(found.keys(), expected.keys())
        for name, array in expected.items():
            self.assertTrue(zoetrope.same(found[name], array), name)
        config = json.loads((theirs / "config.json").read_text())
        del config["_diffusers_version"]
        self.assertEqual(json.loads((ours / "config.json").read_text()), config)


if __name__ == "__main__":
    unittest.main()
