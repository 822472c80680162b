# SPDX-License-Identifier: Apache-2.0
"""The Wan2.1 video autoencoder in PyTorch, as it is commonly run: modules with the published names,
a clip in chunks of 1, 4, 4, ... frames, and in front of each causal conv a copy of the frames that
it saw last. `whole` runs the same modules over all frames at once, without copies.

Weights follow the rule behind `--weights random`: a pure function of name, shape and seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

LATENT_MEAN = (
    (-0.7571, -0.7089, -0.9113, 0.1075, -0.1745, 0.9653, -0.1517, 1.5508)
    + (0.4134, -0.0715, 0.5517, -0.3632, -0.1922, -0.9497, 0.2503, -0.2921)
)  # fmt: skip
LATENT_STD = (
    (2.8184, 1.4541, 2.3275, 2.6558, 1.2196, 1.7708, 2.6052, 2.0743)
    + (3.2687, 2.1526, 2.8652, 1.5579, 1.6382, 1.1253, 2.8251, 1.9160)
)  # fmt: skip
LATENT_CHANNELS = 16
WIDTHS = (1, 2, 4, 4)  # of the levels, in units of base_dim


@dataclass
class FeatureCache:
    """What a clip's later chunks need of its earlier ones."""

    first: bool = True
    keep: bool = True
    frames: dict[str, Tensor] = field(default_factory=dict)

    def save(self, name: str, x: Tensor, count: int) -> None:
        if self.keep:
            self.frames[name] = x[:, :, -count:].clone()


class CausalConv(nn.Conv3d):
    """Frames (n, c, t, h, w), zero padding in space, earlier frames or zeros in front."""

    def __init__(self, name: str, c_in: int, c_out: int, kernel: tuple[int, int, int]):
        super().__init__(c_in, c_out, kernel)
        self.name = name
        self.edges = (kernel[2] // 2, kernel[2] // 2, kernel[1] // 2, kernel[1] // 2)
        self.history = kernel[0] - 1

    def forward(self, x: Tensor, cache: FeatureCache) -> Tensor:  # type: ignore[override]
        missing = self.history
        if self.history:
            earlier = cache.frames.get(self.name)
            if earlier is not None:
                x = torch.cat([earlier, x], dim=2)
                missing -= earlier.shape[2]
            cache.save(self.name, x, self.history)
        return super().forward(F.pad(x, (*self.edges, missing, 0)))


class RmsNorm(nn.Module):
    def __init__(self, channels: int, axes: int):
        super().__init__()
        self.scale = channels**0.5
        self.gamma = nn.Parameter(torch.empty(channels, *[1] * axes))

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(x, dim=1) * self.scale * self.gamma


class Upsample(nn.Upsample):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.float()).type_as(x)


class ResidualBlock(nn.Module):
    def __init__(self, name: str, c_in: int, c_out: int):
        super().__init__()
        kernel = (3, 3, 3)
        self.residual = nn.Sequential(
            RmsNorm(c_in, 3),
            nn.SiLU(),
            CausalConv(f"{name}.residual.2", c_in, c_out, kernel),
            RmsNorm(c_out, 3),
            nn.SiLU(),
            nn.Dropout(0.0),
            CausalConv(f"{name}.residual.6", c_out, c_out, kernel),
        )
        self.shortcut = None
        if c_in != c_out:
            self.shortcut = CausalConv(f"{name}.shortcut", c_in, c_out, (1, 1, 1))

    def forward(self, x: Tensor, cache: FeatureCache) -> Tensor:
        straight = x if self.shortcut is None else self.shortcut(x, cache)
        return straight + run_layers(self.residual, x, cache)


class AttentionBlock(nn.Module):
    """One head over the positions of each frame."""

    def __init__(self, channels: int):
        super().__init__()
        self.norm = RmsNorm(channels, 2)
        self.to_qkv = nn.Conv2d(channels, 3 * channels, 1)
        self.proj = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor, cache: FeatureCache) -> Tensor:
        del cache
        n, c, t, h, w = x.shape
        y = self.to_qkv(self.norm(frames_as_batch(x)))
        q, k, v = y.reshape(n * t, 1, 3 * c, h * w).transpose(2, 3).contiguous().chunk(3, dim=-1)
        y = F.scaled_dot_product_attention(q, k, v)
        y = self.proj(y.squeeze(1).transpose(1, 2).reshape(n * t, c, h, w))
        return x + batch_as_frames(y, n)


class Downsample(nn.Module):
    """Halves the size; with `time` also the frames, all but the first."""

    def __init__(self, name: str, channels: int, time: bool):
        super().__init__()
        self.name = name
        conv = nn.Conv2d(channels, channels, 3, stride=2)
        self.resample = nn.Sequential(nn.ZeroPad2d((0, 1, 0, 1)), conv)
        self.time_conv = None
        if time:
            self.time_conv = nn.Conv3d(channels, channels, (3, 1, 1), stride=(2, 1, 1))

    def forward(self, x: Tensor, cache: FeatureCache) -> Tensor:
        x = batch_as_frames(self.resample(frames_as_batch(x)), x.shape[0])
        if self.time_conv is None:
            return x
        earlier = cache.frames.get(self.name)
        cache.save(self.name, x, 1)
        if earlier is not None:
            return self.time_conv(torch.cat([earlier, x], dim=2))
        if x.shape[2] == 1:
            return x
        return torch.cat([x[:, :, :1], self.time_conv(x)], dim=2)


class UpsampleBlock(nn.Module):
    """Doubles the size and halves the channels; with `time` doubles the frames, all but the
    first."""

    def __init__(self, name: str, channels: int, time: bool):
        super().__init__()
        conv = nn.Conv2d(channels, channels // 2, 3, padding=1)
        self.resample = nn.Sequential(Upsample(scale_factor=(2.0, 2.0), mode="nearest-exact"), conv)
        self.time_conv: CausalConv | None = None
        if time:
            self.time_conv = CausalConv(f"{name}.time_conv", channels, 2 * channels, (3, 1, 1))

    def forward(self, x: Tensor, cache: FeatureCache) -> Tensor:
        if self.time_conv is not None:
            x = double_frames(self.time_conv, x, cache)
        return batch_as_frames(self.resample(frames_as_batch(x)), x.shape[0])


def double_frames(conv: CausalConv, x: Tensor, cache: FeatureCache) -> Tensor:
    """The clip's first frame stays alone, and the conv does not see it."""
    if not cache.first:
        return interleaved_halves(conv(x, cache))
    if x.shape[2] == 1:
        return x
    return torch.cat([x[:, :, :1], interleaved_halves(conv(x[:, :, 1:], cache))], dim=2)


def interleaved_halves(x: Tensor) -> Tensor:
    """(n, 2 c, t, h, w) to (n, c, 2 t, h, w)"""
    n, c, t, h, w = x.shape
    y = x.reshape(n, 2, c // 2, t, h, w)
    return torch.stack((y[:, 0], y[:, 1]), dim=3).reshape(n, c // 2, 2 * t, h, w)


class Encoder(nn.Module):
    def __init__(self, base_dim: int):
        super().__init__()
        widths = [base_dim * width for width in (1, *WIDTHS)]
        self.conv1 = CausalConv("encoder.conv1", 3, widths[0], (3, 3, 3))
        blocks: list[nn.Module] = []
        for level in range(4):
            for c_in in (widths[level], widths[level + 1]):
                name = f"encoder.downsamples.{len(blocks)}"
                blocks.append(ResidualBlock(name, c_in, widths[level + 1]))
            if level < 3:
                name = f"encoder.downsamples.{len(blocks)}"
                blocks.append(Downsample(name, widths[level + 1], time=level > 0))
        self.downsamples = nn.Sequential(*blocks)
        self.middle = middle("encoder", widths[-1])
        self.head = head("encoder", widths[-1], 2 * LATENT_CHANNELS)

    def forward(self, x: Tensor, cache: FeatureCache) -> Tensor:
        x = run_layers(self.downsamples, self.conv1(x, cache), cache)
        return run_layers(self.head, run_layers(self.middle, x, cache), cache)


class Decoder(nn.Module):
    def __init__(self, base_dim: int):
        super().__init__()
        widths = [base_dim * width for width in (*reversed(WIDTHS), 1)]
        self.conv1 = CausalConv("decoder.conv1", LATENT_CHANNELS, widths[0], (3, 3, 3))
        self.middle = middle("decoder", widths[0])
        blocks: list[nn.Module] = []
        c_in = widths[0]
        for level, c_out in enumerate(widths[:4]):
            for _ in range(3):
                blocks.append(ResidualBlock(f"decoder.upsamples.{len(blocks)}", c_in, c_out))
                c_in = c_out
            if level < 3:
                name = f"decoder.upsamples.{len(blocks)}"
                blocks.append(UpsampleBlock(name, c_out, time=level < 2))
                c_in = c_out // 2
        self.upsamples = nn.Sequential(*blocks)
        self.head = head("decoder", widths[3], 3)

    def forward(self, x: Tensor, cache: FeatureCache) -> Tensor:
        x = run_layers(self.middle, self.conv1(x, cache), cache)
        return run_layers(self.head, run_layers(self.upsamples, x, cache), cache)


class Autoencoder(nn.Module):
    """Video (n, 3, 1 + 4 k, h, w) in [-1, 1] to a normalised latent (n, 16, 1 + k, h/8, w/8), and
    back."""

    def __init__(self, base_dim: int):
        super().__init__()
        self.encoder = Encoder(base_dim)
        self.conv1 = CausalConv("conv1", 2 * LATENT_CHANNELS, 2 * LATENT_CHANNELS, (1, 1, 1))
        self.conv2 = CausalConv("conv2", LATENT_CHANNELS, LATENT_CHANNELS, (1, 1, 1))
        self.decoder = Decoder(base_dim)

    def encode(self, video: Tensor, whole: bool = False) -> Tensor:
        cache = FeatureCache(keep=not whole)
        chunks = [video]
        if not whole:
            starts = range(1, video.shape[2], 4)
            chunks = [video[:, :, :1], *(video[:, :, start : start + 4] for start in starts)]
        moments = self.conv1(run_chunks(self.encoder, chunks, cache), cache)
        mean = moments[:, :LATENT_CHANNELS]
        return (mean - per_channel(LATENT_MEAN, mean)) / per_channel(LATENT_STD, mean)

    def decode(self, latent: Tensor, whole: bool = False) -> Tensor:
        cache = FeatureCache(keep=not whole)
        scaled = latent * per_channel(LATENT_STD, latent) + per_channel(LATENT_MEAN, latent)
        x = self.conv2(scaled, cache)
        chunks = [x] if whole else list(x.split(1, dim=2))
        return run_chunks(self.decoder, chunks, cache)


def middle(part: str, channels: int) -> nn.Sequential:
    return nn.Sequential(
        ResidualBlock(f"{part}.middle.0", channels, channels),
        AttentionBlock(channels),
        ResidualBlock(f"{part}.middle.2", channels, channels),
    )


def head(part: str, channels: int, c_out: int) -> nn.Sequential:
    conv = CausalConv(f"{part}.head.2", channels, c_out, (3, 3, 3))
    return nn.Sequential(RmsNorm(channels, 3), nn.SiLU(), conv)


def run_layers(layers: nn.Sequential, x: Tensor, cache: FeatureCache) -> Tensor:
    plain = (RmsNorm, nn.SiLU, nn.Dropout)
    for layer in layers:
        x = layer(x) if isinstance(layer, plain) else layer(x, cache)
    return x


def run_chunks(part: nn.Module, chunks: list[Tensor], cache: FeatureCache) -> Tensor:
    outputs = []
    for chunk in chunks:
        outputs.append(part(chunk, cache))
        cache.first = False
    return torch.cat(outputs, dim=2)


def frames_as_batch(x: Tensor) -> Tensor:
    n, c, t, h, w = x.shape
    return x.transpose(1, 2).reshape(n * t, c, h, w)


def batch_as_frames(x: Tensor, n: int) -> Tensor:
    nt, c, h, w = x.shape
    return x.reshape(n, nt // n, c, h, w).transpose(1, 2)


def per_channel(values: tuple[float, ...], like: Tensor) -> Tensor:
    return torch.tensor(values, dtype=like.dtype, device=like.device).view(1, -1, 1, 1, 1)


def random_values(name: str, count: int, seed: int) -> np.ndarray:
    """float32 in [-1, 1): SplitMix64 from the FNV-1a hash of the name, mixed with the seed."""
    hashed = 0xCBF29CE484222325
    for byte in name.encode():
        hashed = ((hashed ^ byte) * 0x100000001B3) % 2**64
    increment = np.uint64(0x9E3779B97F4A7C15)
    start = np.uint64(hashed) ^ np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    z = start + np.arange(1, count + 1, dtype=np.uint64) * increment
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    z = z ^ z >> np.uint64(31)
    return np.float32(2) * ((z >> np.uint64(40)) * 2.0**-24).astype(np.float32) - np.float32(1)


def random_weight(name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    values = random_values(name, int(np.prod(shape)), seed).reshape(shape)
    if name.endswith("gamma"):
        return np.float32(1) + np.float32(0.25) * values
    if len(shape) == 1:
        return np.float32(0.1) * values
    return values * np.float32(np.sqrt(3 / np.prod(shape[1:], dtype=np.float64)))


def make_autoencoder(base_dim: int, seed: int, dtype: torch.dtype) -> Autoencoder:
    with torch.device("meta"):
        model = Autoencoder(base_dim)
    weights = {
        name: torch.from_numpy(random_weight(name, tuple(tensor.shape), seed)).to(dtype)
        for name, tensor in model.state_dict().items()
    }
    model.load_state_dict(weights, assign=True)
    return model.eval().requires_grad_(False)
