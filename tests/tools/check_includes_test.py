#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
import check_includes


def problems_of(files):
    """What check() says about a tree of {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return check_includes.check(pathlib.Path(root))


def one_line(path, include):
    return problems_of({path: f"#include {include}\n"})


class CheckIncludes(unittest.TestCase):
    def refuses(self, path, include, reason):
        problems = one_line(path, include)
        self.assertEqual(len(problems), 1, f"{path} includes {include}: {problems}")
        self.assertTrue(problems[0].startswith(f"{path}:1: "), problems[0])
        self.assertIn(reason, problems[0])

    def accepts(self, path, include):
        self.assertEqual(one_line(path, include), [])

    def test_refuses_edges_that_no_arrow_allows(self):
        for path, include in [
            ("include/zoetrope/error.h", '"base/fail.h"'),
            ("src/base/fail.cc", '"checkpoint/checkpoint.h"'),
            ("src/checkpoint/torch.cc", '"models/wan21.h"'),
            ("src/graph/graph.cc", '"checkpoint/checkpoint.h"'),
            ("src/graph/graph.cc", '"backend/plan.h"'),
            ("src/models/wan21.cc", '"backend/target.h"'),
            ("src/backend/plan.cc", '"compiler/lower.h"'),
            ("src/runtime/stream.cc", '"media/video_reader.h"'),
            ("src/media/video_reader.cc", '"graph/graph.h"'),
            ("cli/main.cc", '"runtime/stream.h"'),
            ("python/module.cc", '"base/fail.h"'),
        ]:
            with self.subTest(path=path, include=include):
                self.refuses(path, include, "may include only")

    def test_siblings_never_include_each_other(self):
        siblings = ["compiler", "cpu", "cuda"]
        for a in siblings:
            for b in siblings:
                if a != b:
                    self.refuses(f"src/{a}/x.cc", f'"{b}/y.h"', f"{a} includes {b}/y.h")

    def test_kernels_know_no_graph_and_no_plan(self):
        for kernels in ("cpu/kernels", "cuda/kernels", "cuda/ptx"):
            for header in ("graph/graph.h", "backend/plan.h", kernels.split("/")[0] + "/target.h"):
                self.refuses(f"src/{kernels}/conv3d.h", f'"{header}"', "may include only")
            self.accepts(f"src/{kernels}/conv3d.h", '"base/thread_pool.h"')

    def test_arrows_are_transitive(self):
        for path, include in [
            ("src/base/fail.h", '"zoetrope/error.h"'),
            ("src/compiler/lower.cc", '"graph/graph.h"'),
            ("src/cpu/backend.cc", '"cpu/kernels/conv3d.h"'),
            ("src/cuda/backend.cc", '"cuda/ptx/wgmma.cuh"'),
            ("src/runtime/autoencoder.cc", '"cpu/kernels/conv3d.h"'),
            ("src/media/latent_file.cc", '"base/output_file.h"'),
            ("cli/main.cc", '"checkpoint/safetensors.h"'),
            ("cli/main.cc", '"cli/options.h"'),
        ]:
            with self.subTest(path=path, include=include):
                self.accepts(path, include)

    def test_refuses_relative_paths(self):
        for include in ('"../base/fail.h"', '"graph/../base/fail.h"', '"text.h"'):
            self.refuses("src/graph/text.cc", include, "never relative")

    def test_refuses_folders_without_a_rule(self):
        self.refuses("src/utils/strings.h", '"base/fail.h"', "no rule")
        self.refuses("src/graph/graph.cc", '"utils/strings.h"', "has a rule")

    def test_each_library_stays_in_its_folder(self):
        for header, home, stranger in [
            ("libavformat/avformat.h", "src/media", "src/runtime"),
            ("libswscale/swscale.h", "src/media", "cli"),
            ("CLI/CLI.hpp", "cli", "src/runtime"),
            ("hwy/highway.h", "src/cpu/kernels", "src/cpu"),
            ("hwy/targets.h", "src/cpu", "src/runtime"),
            ("sys/mman.h", "src/base", "src/checkpoint"),
        ]:
            for quoted in (f"<{header}>", f'"{header}"'):
                with self.subTest(header=header):
                    self.accepts(f"{home}/x.cc", quoted)
                    self.refuses(f"{stranger}/x.cc", quoted, "only ")

    def test_public_headers_need_only_the_standard_library(self):
        self.refuses("include/zoetrope/error.h", "<fmt/format.h>", "standard library")
        self.accepts("include/zoetrope/error.h", "<string_view>")

    def test_names_the_line(self):
        problems = problems_of({"src/graph/graph.cc": '#include <string>\n\n#  include "cpu/x.h"\n'})
        self.assertEqual(len(problems), 1)
        self.assertTrue(problems[0].startswith("src/graph/graph.cc:3: graph includes cpu/x.h"))

    def test_tests_may_include_anything(self):
        self.accepts("tests/cpu/conv3d_test.cc", '"cpu/kernels/conv3d.h"')


if __name__ == "__main__":
    unittest.main()
