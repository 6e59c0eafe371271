"""Boosted trees from a data file, walked all at once. No library of trees is needed to rank with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.errors import BadSetting
from query_api.ranking.arrays import Floats, Ints, Matrix

#: The layout of the file; another number is another layout.
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees in one array of nodes: a row goes left where its feature is at most the threshold.

    A leaf is its own child both ways, so every row takes `depth` steps in every tree. The score is the sum of the
    values where it ends; higher is better, and only differences within one question mean anything.
    """

    names: tuple[str, ...]
    depth: int
    feature: Ints
    threshold: Floats
    children: Ints
    value: Floats
    roots: Ints
    fit: Mapping[str, Any]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Trees":
        """Read the document of a model file; raises `BadSetting` when it is none."""
        try:
            if document["format"] != FORMAT:
                raise BadSetting(f"a ranking model of format {document['format']}, this program reads {FORMAT}")
            left, right = np.asarray(document["left"], np.int64), np.asarray(document["right"], np.int64)
            trees = cls(
                names=tuple(document["features"]),
                depth=int(document["depth"]),
                feature=np.asarray(document["feature"], np.int64),
                threshold=np.asarray(document["threshold"], np.float64),
                children=np.stack([left, right], axis=1).ravel(),
                value=np.asarray(document["value"], np.float64),
                roots=np.asarray(document["root"], np.int64),
                fit=dict(document.get("fit", {})),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise BadSetting(f"not a ranking model: {error!r}", hint="write one with `magma tune`") from error
        nodes = len(trees.feature)
        sizes = (len(trees.threshold), len(trees.value), len(trees.children) // 2)
        bounded = all(len(part) == 0 or 0 <= part.min() <= part.max() < nodes for part in (trees.children, trees.roots))
        named = nodes == 0 or 0 <= trees.feature.min() <= trees.feature.max() < len(trees.names)
        if any(size != nodes for size in sizes) or not bounded or not named:
            raise BadSetting("a ranking model with parts of different lengths", hint="write one with `magma tune`")
        return trees

    def document(self) -> dict[str, Any]:
        """Give the document of a model file."""
        pairs = self.children.reshape(-1, 2)
        return {
            "format": FORMAT,
            "features": list(self.names),
            "depth": self.depth,
            "feature": self.feature.tolist(),
            "threshold": self.threshold.tolist(),
            "left": pairs[:, 0].tolist(),
            "right": pairs[:, 1].tolist(),
            "value": self.value.tolist(),
            "root": self.roots.tolist(),
            "fit": dict(self.fit),
        }

    def score(self, matrix: Matrix) -> Floats:
        """Score rows whose columns stand in the order of `names`."""
        rows = len(matrix)
        # feature-major, so that one flat index finds a value
        flat = np.ascontiguousarray(matrix.T, dtype=np.float64).ravel()
        row: NDArray[np.int64] = np.arange(rows, dtype=np.int64)[None]
        at = np.repeat(self.roots[:, None], rows, axis=1)
        first = self.feature * rows
        for _ in range(self.depth):
            right = flat.take(first.take(at) + row) > self.threshold.take(at)
            at = self.children.take(2 * at + right)
        scores: Floats = self.value.take(at).sum(axis=0)
        return scores

    def columns(self, names: Sequence[str]) -> list[int]:
        """Give where each feature of the model stands among `names`; raises `BadSetting` for one that is not there."""
        place = {name: index for index, name in enumerate(names)}
        missing = [name for name in self.names if name not in place]
        if missing:
            raise BadSetting(
                f"the ranking model uses features that do not exist: {', '.join(missing)}",
                hint="write it anew with `magma tune`",
            )
        return [place[name] for name in self.names]
