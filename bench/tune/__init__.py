"""Fits the ranker on questions with known evidence. Needs the extra `tune`; ranking itself does not."""

from bench.tune.fit import Parameters, fit
from bench.tune.folds import Fold, cross_fit
from bench.tune.sets import TrainingQuestion, collect, training_question

__all__ = ["Fold", "Parameters", "TrainingQuestion", "collect", "cross_fit", "fit", "training_question"]
