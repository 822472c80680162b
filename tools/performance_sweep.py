# SPDX-License-Identifier: Apache-2.0
"""The picture of docs/performance.md that shows how cost and memory grow: an SVG without scripts,
readable on light and dark backgrounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol
from xml.sax.saxutils import escape

FILE = "sweep.svg"
ALT = "Seconds and memory against frames, a line for each size; the tables have the numbers"

STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1b1b1f; }
.quiet { fill: #5a5a66; } .grid { stroke: #d9d9e0; } .back { fill: #ffffff; }
.line { fill: none; stroke-width: 2; }
.s0 { stroke: #1668b8; } .s1 { stroke: #c2500a; } .s2 { stroke: #1f8a5b; } .s3 { stroke: #8a4fb5; }
.dot { stroke: none; } .dot.s0 { fill: #1668b8; } .dot.s1 { fill: #c2500a; }
.dot.s2 { fill: #1f8a5b; } .dot.s3 { fill: #8a4fb5; }
@media (prefers-color-scheme: dark) {
  text { fill: #ececf1; } .quiet { fill: #a9a9b6; } .grid { stroke: #3a3a44; }
  .back { fill: #16161a; }
  .s0 { stroke: #6db3f5; } .s1 { stroke: #ff9d5c; } .s2 { stroke: #5ccf9a; }
  .s3 { stroke: #cf9df5; }
  .dot.s0 { fill: #6db3f5; } .dot.s1 { fill: #ff9d5c; } .dot.s2 { fill: #5ccf9a; }
  .dot.s3 { fill: #cf9df5; }
}
"""

WIDTH, HEIGHT = 460, 260
LEFT, RIGHT, TOP, BOTTOM = 56, 78, 44, 44
COLORS = 4


class Point(Protocol):
    frames: int
    width: int
    height: int
    memory_bytes: float
    row: dict[str, Any]

    @property
    def size(self) -> str: ...


def step_of(most: float) -> float:
    """Between grid lines: 1, 2 or 5 times a power of ten, for about four of them."""
    power = 10 ** math.floor(math.log10(most / 4))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= most / 4)


def lines_of(points: list[Point], value: Callable[[Point], float]) -> list[tuple[str, list]]:
    """(size, [(frames, value)]), the smallest size first."""
    sizes: dict[tuple[int, str], list[tuple[int, float]]] = {}
    for point in points:
        at = sizes.setdefault((point.width * point.height, point.size), [])
        at.append((point.frames, value(point)))
    return [(size, sorted(values)) for (_, size), values in sorted(sizes.items())]


def label_heights(wanted: list[float]) -> list[float]:
    """Moved apart, so that no label lies on another; `wanted` in any order."""
    order = sorted(range(len(wanted)), key=lambda i: -wanted[i])
    heights = list(wanted)
    for above, below in zip(order[1:], order):
        heights[above] = min(heights[above], heights[below] - 15)
    return heights


def chart(title: str, points: list[Point], value: Callable[[Point], float]) -> str:
    lines = lines_of(points, value)
    most_frames = max(point.frames for point in points)
    step = step_of(max(value(point) for point in points))
    top = step * math.ceil(max(value(point) for point in points) / step)

    def x(frames: float) -> float:
        return LEFT + frames / most_frames * (WIDTH - LEFT - RIGHT)

    def y(amount: float) -> float:
        return HEIGHT - BOTTOM - amount / top * (HEIGHT - TOP - BOTTOM)

    parts = [f'<text x="0" y="18">{escape(title)}</text>']
    for i in range(round(top / step) + 1):
        at = y(i * step)
        parts.append(
            f'<line class="grid" x1="{LEFT}" y1="{at:.1f}" x2="{WIDTH - RIGHT}" y2="{at:.1f}"/>'
            f'<text class="quiet" x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">'
            f"{i * step:g}</text>"
        )
    for frames in sorted({point.frames for point in points}):
        parts.append(
            f'<text class="quiet" x="{x(frames):.1f}" y="{HEIGHT - BOTTOM + 18}" '
            f'text-anchor="middle">{frames}</text>'
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text class="quiet" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">frames</text>'
    )
    heights = label_heights([y(values[-1][1]) for _, values in lines])
    for i, (size, values) in enumerate(lines):
        color = f"s{i % COLORS}"
        path = "L".join(f"{x(frames):.1f} {y(amount):.1f}" for frames, amount in values)
        parts.append(f'<path class="line {color}" d="M{path}"/>')
        parts += [
            f'<circle class="dot {color}" cx="{x(frames):.1f}" cy="{y(amount):.1f}" r="3"/>'
            for frames, amount in values
        ]
        parts.append(f'<text x="{WIDTH - RIGHT + 8}" y="{heights[i] + 4:.1f}">{size}</text>')
    return "\n".join(parts)


def picture(groups: dict[str, list[Point]]) -> str:
    """Two charts beside each other for each group."""
    charts = []
    for row, (name, points) in enumerate(groups.items()):
        memory = lambda point: point.memory_bytes / 2**20  # noqa: E731
        seconds = lambda point: point.row["real_time"] / 1e3  # noqa: E731
        coding = name.partition(",")[0]
        for column, body in enumerate(
            (
                chart(f"{coding}: seconds", points, seconds),
                chart(f"{coding}: memory, MiB", points, memory),
            )
        ):
            place = f"translate({10 + column * (WIDTH + 20)} {10 + row * (HEIGHT + 14)})"
            charts.append(f'<g transform="{place}">\n{body}\n</g>')
    width = 2 * WIDTH + 40
    height = 20 + len(groups) * (HEIGHT + 14)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{escape(ALT)}">\n'
        f"<style>\n{STYLE}</style>\n"
        f'<rect class="back" width="{width}" height="{height}"/>\n'
        + "\n".join(charts)
        + "\n</svg>\n"
    )
