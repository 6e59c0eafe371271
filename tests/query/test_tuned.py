"""What `magma tune` wrote is what retrieval takes when the settings name it; what does not fit is refused."""

from pathlib import Path

import orjson
import pytest

from memory.errors import BadSetting
from memory.settings import load_settings
from query_api.policy import shipped_policy
from query_api.ranking import Documents, FittedRanker, shipped_trees
from query_api.ranking.choice import Rankers
from query_api.tuned import chosen_policy, chosen_trees

ENCODER = "wordllama-l2-supercat"


def test_a_shipped_policy_is_chosen_by_its_name() -> None:
    assert chosen_policy(load_settings()) is shipped_policy("default")
    assert chosen_policy(load_settings(policy="paper")) is shipped_policy("paper")


def test_a_policy_file_is_chosen_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    text = (Path(__file__).parents[2] / "query_api" / "policies" / "default.toml").read_text("utf-8")
    path.write_text(text.replace('name = "default"', 'name = "own"').replace("gamma = 0.9", "gamma = 0.4"))
    policy = chosen_policy(load_settings(policy=str(path)))
    assert (policy.name, policy.walk.gamma) == ("own", 0.4)


@pytest.mark.parametrize(
    ("content", "said"), [(None, "neither a shipped policy nor a file"), ("name = 3", "not valid")]
)
def test_what_is_no_policy_is_refused(tmp_path: Path, content: str | None, said: str) -> None:
    path = tmp_path / "own.toml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(BadSetting, match=said):
        chosen_policy(load_settings(policy=str(path)))


def test_a_model_of_the_memorys_encoder_ranks_and_another_is_refused(tmp_path: Path) -> None:
    assert chosen_trees(load_settings(), ENCODER) is None
    shipped = shipped_trees(ENCODER)
    assert shipped is not None
    path = tmp_path / "model.json"
    path.write_bytes(orjson.dumps(shipped.document()))
    settings = load_settings(ranking_model=path)
    trees = chosen_trees(settings, ENCODER)
    assert trees is not None
    assert trees.document() == shipped.document()
    with pytest.raises(BadSetting, match="fitted on the vectors of"):
        chosen_trees(settings, "another")
    ranker = Rankers("another", Documents.open(), trees=trees).of(shipped_policy("default"))
    assert isinstance(ranker, FittedRanker)
    assert ranker._trees is trees


@pytest.mark.parametrize("content", [b"{", b"{}", None])
def test_what_is_no_model_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "model.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadSetting, match="model"):
        chosen_trees(load_settings(ranking_model=path), ENCODER)
