"""`magma compact`: what was deleted leaves the files of the local stack."""

from cli.options import DataDir, JsonFlag, settings_for
from cli.output import emit
from deploy.local import CompactionReport, compact_files


def compact(data_dir: DataDir = None, as_json: JsonFlag = False) -> None:
    """After an erasure, take its bytes out of the files of the stopped local stack.

    Other servers have their own compaction: docs/forgetting.md says what to set.

    Example: magma compact --json
    """
    report = compact_files(settings_for(data_dir).data_dir)
    emit(as_json, report, _told(report))


def _told(report: CompactionReport) -> str:
    if not report.stores:
        return f"nothing to compact in {report.data_dir}"
    return "\n".join(
        f"{store.name}: {store.bytes_before:,} bytes before, {store.bytes_after:,} after" for store in report.stores
    )
