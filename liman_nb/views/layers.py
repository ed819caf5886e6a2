"""Arranging in layers without Graphviz: for large graphs, and where pygraphviz is missing.

Every line runs downwards through the gaps between layers; where it passes a layer it has a lane of
its own there. So no line crosses a box and no box another, by construction. Order and places within
a layer come from `ordering.py`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from liman_nb.errors import UsageError
from liman_nb.views.arrangement import Arrangement, Line, Problem
from liman_nb.views.geometry import Box, Curve, Point, straight
from liman_nb.views.ordering import Layers, order, places

ITEM_LIMIT = 25_000
"""Boxes and lanes beyond which a drawing would help nobody."""

_GAP = 22.0  # pixels between neighbours in a layer
_LANE = 7.0  # half the width of a lane
_RANK_ROOM = 12.0  # pixels added to the gap between ranks, for arrows that stand upright
_RANK_GAP_LIMIT = 90.0
_TIP = 8.0
_PORT = 16.0  # pixels between the ends of two lines at a box


@dataclass(frozen=True, slots=True)
class _Chain:
    """A line from its upper box through lanes to its lower box.

    Attributes:
        items: boxes and lanes, one per layer, from top to bottom.
        is_upwards: whether the line is drawn from the last item to the first.
        has_tip: whether the line ends in an arrow head.
    """

    items: tuple[int, ...]
    is_upwards: bool
    has_tip: bool


@dataclass(frozen=True, slots=True)
class _Band:
    """The vertical room of a layer."""

    top: float
    bottom: float

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


def arrange(problem: Problem) -> Arrangement:
    """Arrange a problem.

    Raises:
        UsageError: more boxes and lanes than :data:`ITEM_LIMIT`.
    """
    if not problem.sizes:
        return Arrangement(0, 0, (), (), "layers")
    stacks = frozenset(problem.beside.values())
    items = [box for box in range(len(problem.sizes)) if box not in stacks]
    numbers = _layer_numbers(items, problem.lines)
    for line in problem.lines:
        if line.is_upwards and line.upper in problem.waypoints:
            numbers[line.upper] = numbers[line.lower] - 1  # the label stands where its edge starts
    chains = _chains(problem, numbers)
    layers = _ordered(numbers, chains)
    x = places(layers, _pulls(problem, chains), _extents(problem, layers))
    bands = _bands(problem, layers, chains, x)
    return _finished(problem, chains, layers, x, bands)


# ── layers ───────────────────────────────────────────────────────────────────────────────────────


def _layer_numbers(items: Sequence[int], lines: Sequence[Line]) -> dict[int, int]:
    """The layer of each box: one more than the lowest of those above it."""
    below: dict[int, list[int]] = defaultdict(list)
    waiting = dict.fromkeys(items, 0)
    for line in lines:
        below[line.upper].append(line.lower)
        waiting[line.lower] += 1
    result = dict.fromkeys(items, 0)
    ready = deque(item for item in items if not waiting[item])
    while ready:
        item = ready.popleft()
        for other in below[item]:
            result[other] = max(result[other], result[item] + 1)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return result


def _chains(problem: Problem, numbers: dict[int, int]) -> list[_Chain]:
    """Each line as a chain. Its lanes are new items, numbered on from the boxes, with layers."""
    chains = []
    lane = len(problem.sizes)
    for line in problem.lines:
        between = range(numbers[line.upper] + 1, numbers[line.lower])
        lanes = range(lane, lane + len(between))
        numbers.update(zip(lanes, between, strict=True))
        lane += len(lanes)
        if len(numbers) > ITEM_LIMIT:
            raise UsageError(
                f"a graph with {len(problem.lines):,} lines over {max(numbers.values()) + 1:,} "
                "layers is too large to draw; use .to_mermaid() or .to_networkx()"
            )
        chains.append(_Chain((line.upper, *lanes, line.lower), line.is_upwards, line.has_tip))
    return chains


def _ordered(numbers: Mapping[int, int], chains: Sequence[_Chain]) -> Layers:
    layers: Layers = [[] for _ in range(max(numbers.values()) + 1)]
    for item, number in numbers.items():
        layers[number].append(item)
    above, below = defaultdict(list), defaultdict(list)
    for chain in chains:
        for upper, lower in pairwise(chain.items):
            above[lower].append(upper)
            below[upper].append(lower)
    return order(layers, above, below)


# ── places ───────────────────────────────────────────────────────────────────────────────────────


def _pulls(problem: Problem, chains: Sequence[_Chain]) -> Mapping[int, list[tuple[int, float]]]:
    """What each item wants to stand above or below. Lanes pull hard, so long lines are straight."""
    pulls: dict[int, list[tuple[int, float]]] = defaultdict(list)
    boxes = len(problem.sizes)
    for chain in chains:
        for upper, lower in pairwise(chain.items):
            weight = (1.0, 2.0, 8.0)[(upper >= boxes) + (lower >= boxes)]
            pulls[upper].append((lower, weight))
            pulls[lower].append((upper, weight))
    return pulls


def _extents(problem: Problem, layers: Layers) -> dict[int, tuple[float, float]]:
    """What each item needs to its left and right. The labels of self loops stand to the right."""
    extents = {}
    for item in (item for layer in layers for item in layer):
        if item >= len(problem.sizes):
            extents[item] = (_LANE, _LANE)
            continue
        half = (problem.sizes[item][0] + _GAP) / 2
        stack = problem.beside.get(item)
        extents[item] = (half, half + (problem.sizes[stack][0] if stack is not None else 0))
    return extents


def _bands(
    problem: Problem, layers: Layers, chains: Sequence[_Chain], x: Mapping[int, float]
) -> list[_Band]:
    """The layers' vertical room. A gap is higher where lines run far sideways."""
    number = {item: n for n, layer in enumerate(layers) for item in layer}
    run = [0.0] * len(layers)
    for chain in chains:
        for upper, lower in pairwise(chain.items):
            run[number[upper]] = max(run[number[upper]], abs(x[upper] - x[lower]))
    bands, top = [], 0.0
    for n, layer in enumerate(layers):
        bottom = top + max(_height(problem, item) for item in layer)
        bands.append(_Band(top, bottom))
        top = bottom + min(problem.rank_gap + _RANK_ROOM + run[n] * 0.08, _RANK_GAP_LIMIT)
    return bands


def _height(problem: Problem, item: int) -> float:
    if item >= len(problem.sizes):
        return 0.0
    stack = problem.beside.get(item)
    own = problem.sizes[item][1]
    return own if stack is None else max(own, problem.sizes[stack][1])


def _finished(
    problem: Problem,
    chains: Sequence[_Chain],
    layers: Layers,
    x: Mapping[int, float],
    bands: Sequence[_Band],
) -> Arrangement:
    """Boxes and curves, moved so that the drawing starts at the origin."""
    boxes = dict(_boxes(problem, layers, x, bands))
    left = min(box.left for box in boxes.values())
    lanes = [x[item] for layer in layers for item in layer if item >= len(problem.sizes)]
    left = min([left, *(lane - _LANE for lane in lanes)])
    right = max([*(box.right for box in boxes.values()), *(lane + _LANE for lane in lanes)])
    placed = [Box(b.x - left, b.y, b.width, b.height) for _, b in sorted(boxes.items())]
    lane_x = {item: place - left for item, place in x.items()}
    curves = tuple(_curves(chains, layers, placed, lane_x, bands))
    return Arrangement(right - left, bands[-1].bottom, tuple(placed), curves, "layers")


def _boxes(
    problem: Problem, layers: Layers, x: Mapping[int, float], bands: Sequence[_Band]
) -> Iterator[tuple[int, Box]]:
    for layer, band in zip(layers, bands, strict=True):
        for item in layer:
            if item >= len(problem.sizes):
                continue
            box = Box(x[item], band.middle, *problem.sizes[item])
            yield item, box
            if item in problem.beside:
                stack = problem.beside[item]
                width, height = problem.sizes[stack]
                yield stack, Box(box.right + width / 2, box.y, width, height)


# ── curves ───────────────────────────────────────────────────────────────────────────────────────


def _curves(
    chains: Sequence[_Chain],
    layers: Layers,
    boxes: Sequence[Box],
    x: Mapping[int, float],
    bands: Sequence[_Band],
) -> Iterator[Curve]:
    number = {item: n for n, layer in enumerate(layers) for item in layer}
    starts = _ports(chains, boxes, x, at_start=True)
    ends = _ports(chains, boxes, x, at_start=False)
    for position, chain in enumerate(chains):
        stops = [starts[position], *(x[lane] for lane in chain.items[1:-1]), ends[position]]
        own_bands = [bands[number[item]] for item in chain.items]
        yield _curve(chain, stops, own_bands, boxes[chain.items[0]], boxes[chain.items[-1]])


def _ports(
    chains: Sequence[_Chain], boxes: Sequence[Box], x: Mapping[int, float], *, at_start: bool
) -> dict[int, float]:
    """Where each chain leaves its upper box, or enters its lower box: side by side, uncrossed."""
    by_box: dict[int, list[int]] = defaultdict(list)
    for position, chain in enumerate(chains):
        by_box[chain.items[0 if at_start else -1]].append(position)
    ports = {}
    for box, positions in by_box.items():
        positions.sort(key=lambda p: x[chains[p].items[1 if at_start else -2]])
        room = min(_PORT * (len(positions) - 1), boxes[box].width - 28)
        for rank, position in enumerate(positions):
            share = rank / (len(positions) - 1) - 0.5 if len(positions) > 1 else 0
            ports[position] = boxes[box].x + room * share
    return ports


def _curve(
    chain: _Chain, stops: Sequence[float], bands: Sequence[_Band], upper: Box, lower: Box
) -> Curve:
    """Down through the gaps, upright where it passes a layer."""
    tip_above = _TIP if chain.has_tip and chain.is_upwards else 0.0
    tip_below = _TIP if chain.has_tip and not chain.is_upwards else 0.0
    points: list[Point] = [(stops[0], upper.bottom + tip_above)]
    last = len(stops) - 1
    for n in range(last):
        leaves = bands[n].bottom + (tip_above if n == 0 else 0)
        enters = bands[n + 1].top - (tip_below if n + 1 == last else 0)
        _upright(points, leaves)
        middle = (leaves + enters) / 2
        points += [(stops[n], middle), (stops[n + 1], middle), (stops[n + 1], enters)]
    _upright(points, lower.top - tip_below)
    if chain.is_upwards:
        tip = (stops[0], upper.bottom) if chain.has_tip else None
        return Curve(tuple(reversed(points)), tip)
    return Curve(tuple(points), (stops[-1], lower.top) if chain.has_tip else None)


def _upright(points: list[Point], y: float) -> None:
    """Go straight down to ``y``, where that is any way to go."""
    x, from_y = points[-1]
    if y - from_y > 0.1:  # noqa: PLR2004 - less than a pixel's tenth is no way
        points.extend(straight((x, from_y), (x, y)))
