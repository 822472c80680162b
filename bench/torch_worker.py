# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of compare_torch.py, in a process of its own so that its memory is its own.

Takes a job as JSON, leaves `input.npy` and `output.npy` in the job's folder, then answers each line
"run" with the seconds that one run took, and ends with its input. One JSON object a line.
"""

from __future__ import annotations

import json
import pathlib
import platform
import sys
import time
from typing import Any

import numpy as np
import torch
import torch_model

LATENT_SCALE = 1.7  # about a normalised latent's range


class Worker:
    def __init__(self, job: dict[str, Any]):
        self.job = job
        self.device = torch.device(job["device"])
        self.dtype: torch.dtype = getattr(torch, job["dtype"])
        torch.set_num_threads(job["threads"])
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        self.model = self.make_model()
        self.input = self.make_input()

    def make_model(self) -> torch_model.Autoencoder:
        job = self.job
        model = torch_model.make_autoencoder(job["base_dim"], job["seed"], self.dtype)
        used, unused = (
            ("decoder", "encoder") if job["coding"] == "decode" else ("encoder", "decoder")
        )
        delattr(model, unused)
        model = model.to(self.device)
        if job["channels_last"]:
            for parameter in model.parameters():
                parameter.data = channels_last(parameter.data)
        if job["compile"]:
            setattr(model, used, torch.compile(getattr(model, used)))
        return model

    def make_input(self) -> torch.Tensor:
        job = self.job
        frames, height, width = job["frames"], job["height"], job["width"]
        shape, name, scale = (3, frames, height, width), "input.video", 1.0
        if job["coding"] == "decode":
            shape = (torch_model.LATENT_CHANNELS, 1 + (frames - 1) // 4, height // 8, width // 8)
            name, scale = "input.latent", LATENT_SCALE
        values = torch_model.random_values(name, int(np.prod(shape)), job["seed"])
        values = values.reshape(shape) * np.float32(scale)
        np.save(pathlib.Path(job["folder"]) / "input.npy", values)
        x = torch.from_numpy(values)[None].to(self.device, self.dtype)
        return channels_last(x) if job["channels_last"] else x

    def save_output(self) -> None:
        output = self.run()[0].float().cpu().numpy()
        np.save(pathlib.Path(self.job["folder"]) / "output.npy", output)

    @torch.inference_mode()
    def run(self) -> torch.Tensor:
        whole = self.job["whole"]
        if self.job["coding"] == "decode":
            return self.model.decode(self.input, whole)
        return self.model.encode(self.input, whole)

    def seconds(self) -> float:
        self.synchronize()
        start = time.perf_counter()
        self.run()
        self.synchronize()
        return time.perf_counter() - start

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def reset_peak_memory(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)
        else:
            pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="ascii")

    def peak_memory(self) -> int:
        """Bytes since the last reset: allocated on the device, or resident in this process."""
        if self.device.type == "cuda":
            return torch.cuda.max_memory_allocated(self.device)
        status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024

    def versions(self) -> dict[str, str]:
        versions = {"torch": torch.__version__, "python": platform.python_version()}
        if self.device.type == "cuda":
            versions["cuda"] = str(torch.version.cuda)
            versions["cudnn"] = str(torch.backends.cudnn.version())
            versions["device"] = torch.cuda.get_device_name(self.device)
        return versions


def channels_last(x: torch.Tensor) -> torch.Tensor:
    """In its own shape, but with the channels next to each other in memory."""
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return x.contiguous(memory_format=formats[x.dim()]) if x.dim() in formats else x


def answer(record: dict[str, Any]) -> None:
    print(json.dumps(record), flush=True)


def main() -> None:
    worker = Worker(json.loads(sys.argv[1]))
    worker.save_output()
    answer({"versions": worker.versions()})
    worker.reset_peak_memory()
    for _ in sys.stdin:
        seconds = worker.seconds()
        answer({"seconds": seconds, "peak_memory": worker.peak_memory()})


if __name__ == "__main__":
    main()
