#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Zoetrope in a process in which PyTorch holds most of a GPU's memory: on PyTorch's tensors and
stream, out of memory and then usable again, with the same bits as where memory is plenty.

usage: torch_host.py TORCH_HOST_LIBRARY
"""

from __future__ import annotations

import ctypes
import sys

import torch

HEIGHT, WIDTH, LATENTS = 512, 512, 6
LEFT = 3 * 2**30  # bytes that PyTorch leaves


def load(path: str) -> ctypes.CDLL:
    library = ctypes.CDLL(path)
    library.error_text.restype = ctypes.c_char_p
    library.open_decoder.restype = ctypes.c_void_p
    library.open_decoder.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    library.frames_per_step.restype = ctypes.c_int64
    library.frames_per_step.argtypes = [ctypes.c_void_p]
    library.decode.restype = ctypes.c_bool
    library.decode.argtypes = [
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p),
        *(ctypes.c_int64, ctypes.c_int64),
    ]
    library.close_decoder.argtypes = [ctypes.c_void_p]
    return library


class Host:
    def __init__(self, library: ctypes.CDLL):
        self.library = library
        self.stream = torch.cuda.Stream()

    def open(self, height: int = HEIGHT, width: int = WIDTH) -> int | None:
        return self.library.open_decoder(height, width, self.stream.cuda_stream)

    def error(self) -> str:
        return self.library.error_text().decode()

    def decode(self) -> tuple[torch.Tensor, int]:
        """Without a wait between PyTorch's work and Zoetrope's."""
        decoder = self.open()
        assert decoder, self.error()
        with torch.cuda.stream(self.stream):
            torch.manual_seed(1)
            latents = torch.randn(16, LATENTS, HEIGHT // 8, WIDTH // 8, device="cuda")
            shape = (4 * LATENTS - 3, HEIGHT, WIDTH, 3)
            video = torch.zeros(shape, dtype=torch.uint8, device="cuda")
            done = self.library.decode(
                decoder, latents.data_ptr(), LATENTS, video.data_ptr(), HEIGHT, WIDTH
            )
            assert done, self.error()
            copy = video.clone()
            video.zero_()
            result = copy.cpu()
        frames = self.library.frames_per_step(decoder)
        self.library.close_decoder(decoder)
        return result, frames


def main() -> None:
    host = Host(load(sys.argv[1]))
    expected, many = host.decode()
    assert expected.float().std() > 1
    free, _ = torch.cuda.mem_get_info()
    held = torch.empty(free - LEFT, dtype=torch.uint8, device="cuda")
    assert host.open(2048, 2048) is None
    print("refused:", host.error())
    found, few = host.decode()
    assert torch.equal(found, expected)
    assert few < many, (few, many)
    del held
    torch.cuda.empty_cache()
    again, frames = host.decode()
    assert torch.equal(again, expected)
    assert frames == many
    print(f"same bits with {many} and {few} latent frames a step")


if __name__ == "__main__":
    main()
