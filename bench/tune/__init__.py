"""Fits the ranker and the policy on questions with known evidence. Needs the extra `tune`; retrieval does not."""

from bench.tune.fit import Parameters, fit
from bench.tune.folds import Fold, cross_fit
from bench.tune.policy_file import policy_toml
from bench.tune.proposals import moves, proposals
from bench.tune.search import OutOfFold, Search, choose, try_policies
from bench.tune.sets import KeepingRanker, TrainingQuestion, collect, of_measured, training_question

__all__ = [
    "Fold",
    "KeepingRanker",
    "OutOfFold",
    "Parameters",
    "Search",
    "TrainingQuestion",
    "choose",
    "collect",
    "cross_fit",
    "fit",
    "moves",
    "of_measured",
    "policy_toml",
    "proposals",
    "training_question",
    "try_policies",
]
