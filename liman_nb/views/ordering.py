"""The order of boxes within the layers of a drawing, and their horizontal places.

Pure functions on layers of numbered items. The order comes from sweeps that put each item at the
mean position of its neighbours (Sugiyama, Tagawa, Toda 1981), the best of them by counted crossings
is kept. The places are the least-squares solution that keeps order and distances: an isotonic
regression per layer.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from itertools import pairwise

Layers = list[list[int]]
Neighbours = Mapping[int, Sequence[int]]
Extent = tuple[float, float]

_ORDER_SWEEPS = 10
_PLACE_SWEEPS = 20


def order(layers: Layers, above: Neighbours, below: Neighbours) -> Layers:
    """Reorder each layer so that few lines cross.

    Args:
        layers: items by layer, from top to bottom.
        above: by item, its neighbours in the layer above.
        below: by item, its neighbours in the layer below.
    """
    best, fewest = layers, crossings(layers, below)
    current = layers
    for sweep in range(_ORDER_SWEEPS):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        current = _sweep(current, above if downwards else below, downwards=downwards)
        count = crossings(current, below)
        if count < fewest:
            best, fewest = current, count
    return best


def crossings(layers: Layers, below: Neighbours) -> int:
    """How many pairs of lines cross between neighbouring layers."""
    total = 0
    for upper, lower in pairwise(layers):
        place = {item: position for position, item in enumerate(lower)}
        seen: list[int] = []
        for item in upper:
            ends = sorted(place[other] for other in below.get(item, ()))
            total += sum(len(seen) - bisect_left(seen, end + 1) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _sweep(layers: Layers, neighbours: Neighbours, *, downwards: bool) -> Layers:
    """Order every layer by the layer before it, in the sweep's direction."""
    result = list(layers)
    numbers = range(1, len(layers)) if downwards else range(len(layers) - 2, -1, -1)
    for number in numbers:
        fixed = result[number - 1 if downwards else number + 1]
        place = {item: position for position, item in enumerate(fixed)}
        result[number] = _by_mean(result[number], neighbours, place)
    return result


def _by_mean(layer: list[int], neighbours: Neighbours, place: Mapping[int, int]) -> list[int]:
    """Sort by the mean place of the neighbours; items without neighbours keep their position."""
    keys = {}
    for position, item in enumerate(layer):
        ends = [place[other] for other in neighbours.get(item, ())]
        keys[item] = sum(ends) / len(ends) if ends else position
    return sorted(layer, key=keys.__getitem__)


def places(
    layers: Layers, pulls: Mapping[int, Sequence[tuple[int, float]]], extents: Mapping[int, Extent]
) -> dict[int, float]:
    """A horizontal place for every item.

    Args:
        layers: items in order.
        pulls: by item, the items it should stand above or below, and how strongly.
        extents: by item, what it needs to the left and to the right of its place.
    """
    result: dict[int, float] = {}
    for layer in layers:
        offsets = _touching(layer, extents)
        middle = (offsets[0] + offsets[-1]) / 2
        result.update((i, offset - middle) for i, offset in zip(layer, offsets, strict=True))
    for sweep in range(_PLACE_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wishes = [_wish(item, pulls, result) for item in layer]
            result.update(zip(layer, _spread(layer, wishes, extents), strict=True))
    return result


def _touching(layer: list[int], extents: Mapping[int, Extent]) -> list[float]:
    """The places of a layer whose items touch."""
    result = [0.0]
    for left, right in pairwise(layer):
        result.append(result[-1] + extents[left][1] + extents[right][0])
    return result


def _wish(
    item: int, pulls: Mapping[int, Sequence[tuple[int, float]]], current: Mapping[int, float]
) -> tuple[float, float]:
    """Where the item wants to stand, the weighted mean of its neighbours, and how strongly."""
    around = pulls.get(item, ())
    weight = sum(w for _, w in around)
    if not weight:
        return current[item], 0.1
    return sum(current[other] * w for other, w in around) / weight, weight


def _spread(
    layer: list[int], wishes: Sequence[tuple[float, float]], extents: Mapping[int, Extent]
) -> list[float]:
    """The places nearest to the wishes that keep order and distances (pool adjacent violators)."""
    offsets = _touching(layer, extents)
    pools: list[tuple[float, float, int]] = []  # mean of the shifted wishes, weight, items
    for (wish, strength), offset in zip(wishes, offsets, strict=True):
        pool = (wish - offset, strength, 1)
        while pools and pools[-1][0] > pool[0]:
            pool = _pooled(pools.pop(), pool)
        pools.append(pool)
    shifts = [mean for mean, _, count in pools for _ in range(count)]
    return [shift + offset for shift, offset in zip(shifts, offsets, strict=True)]


def _pooled(
    one: tuple[float, float, int], other: tuple[float, float, int]
) -> tuple[float, float, int]:
    weight = one[1] + other[1]
    return (one[0] * one[1] + other[0] * other[1]) / weight, weight, one[2] + other[2]
