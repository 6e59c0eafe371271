"""What must not be remembered is taken out of events at intake (docs/privacy.md)."""

from memory.redaction.finding import DataKind
from memory.redaction.policy import Policy
from memory.redaction.redactor import Redactor, SensitiveData

__all__ = ["DataKind", "Policy", "Redactor", "SensitiveData"]
