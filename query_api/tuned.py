"""What `magma tune` wrote, as the settings name it: a policy, and the trees of a ranking model."""

from pathlib import Path

from memory.errors import BadSetting
from memory.settings import Settings
from query_api.policy import Policy, read_policy, shipped_policies
from query_api.ranking import Trees, read_trees


def chosen_policy(settings: Settings) -> Policy:
    """Give the policy of the settings: a shipped one by its name, else a file; raises `BadSetting` for neither."""
    shipped = shipped_policies()
    if settings.policy in shipped:
        return shipped[settings.policy]
    if not Path(settings.policy).exists():
        raise BadSetting(
            f"policy={settings.policy} is neither a shipped policy nor a file", hint=f"shipped are {', '.join(shipped)}"
        )
    return read_policy(Path(settings.policy))


def chosen_trees(settings: Settings, encoder_name: str) -> Trees | None:
    """Give the trees of the settings' model, None when the shipped ones are to rank.

    Raises `BadSetting` for a file that is none, or one that was fitted on another encoder's vectors.
    """
    path = settings.ranking_model
    if path is None:
        return None
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadSetting(f"ranking_model={path} cannot be read: {error.strerror}") from error
    trees = read_trees(content, str(path))
    fitted_on = trees.fit.get("encoder")
    if fitted_on != encoder_name:
        raise BadSetting(
            f"ranking_model={path} was fitted on the vectors of {fitted_on}, the memory holds those of {encoder_name}",
            hint="fit one for this encoder: `magma tune --out`",
        )
    return trees
