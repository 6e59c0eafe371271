"""The local stack: Kafka's protocol, Bolt and Milvus from packages, on loopback, without containers or accounts.

It speaks the same three protocols as production; its limits (log in memory, one writer, about 20,000 events a tenant)
are said by `magma status` and the documentation. Linux only: the servers die with their parent by `PR_SET_PDEATHSIG`.
"""

from deploy.local.compaction import CompactionReport
from deploy.local.compaction import compact as compact_files
from deploy.local.control import StackReport, bring_up, stack_status, take_down
from deploy.local.services import LOG_IN_MEMORY, Service, ServiceStatus, StackPlan
from deploy.local.stack import LocalStack

__all__ = [
    "LOG_IN_MEMORY",
    "CompactionReport",
    "LocalStack",
    "Service",
    "ServiceStatus",
    "StackPlan",
    "StackReport",
    "bring_up",
    "compact_files",
    "stack_status",
    "take_down",
]
