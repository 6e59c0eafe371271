"""Which ranker a policy asks for."""

from query_api.policy import Policy, RankerName
from query_api.ranking.documents import Documents
from query_api.ranking.fitted import FittedRanker
from query_api.ranking.model import Ranker
from query_api.ranking.salience import SalienceRanker
from query_api.ranking.trees import Trees


class Rankers:
    """The rankers of one encoder.

    `fitted` is the model fitted on the encoder's vectors; where none is shipped, ranking is by `base`, which needs no
    fitting. `trees` are ranked by instead of the shipped ones, `given` takes the place of all.
    """

    def __init__(
        self, encoder_name: str, documents: Documents, given: Ranker | None = None, trees: Trees | None = None
    ) -> None:
        self._given = given
        base = FittedRanker(None, documents)
        own = None if trees is None else FittedRanker(trees, documents)
        self._by_name: dict[RankerName, Ranker] = {
            RankerName.FITTED: own or FittedRanker.load(encoder_name, documents) or base,
            RankerName.BASE: base,
            RankerName.SALIENCE: SalienceRanker(),
        }

    def of(self, policy: Policy) -> Ranker:
        """Give the ranker of a policy."""
        return self._given or self._by_name[policy.ranking.ranker]
