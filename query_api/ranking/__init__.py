"""The order of what was found. Rankers are exchangeable behind `Ranker`."""

from query_api.ranking.documents import Documents
from query_api.ranking.features import FEATURES, NAMES
from query_api.ranking.fitted import FittedRanker, Measured, Part, read_trees, shipped_trees
from query_api.ranking.model import Candidate, Evidence, Ranker, Scored
from query_api.ranking.salience import SalienceRanker, Term
from query_api.ranking.trees import Trees
from query_api.ranking.window import in_window

__all__ = [
    "FEATURES",
    "NAMES",
    "Candidate",
    "Documents",
    "Evidence",
    "FittedRanker",
    "Measured",
    "Part",
    "Ranker",
    "SalienceRanker",
    "Scored",
    "Term",
    "Trees",
    "in_window",
    "read_trees",
    "shipped_trees",
]
