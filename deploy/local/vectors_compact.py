"""Script: `vectors_compact.py DATA_DIR` writes every file of milvus-lite anew without the rows that were deleted.

milvus-lite 3.2.2 compacts by itself only where four files of a size stand in a partition, and takes the request to
compact (`ManualCompaction`) without doing anything. So its own compaction is called here for each partition's files.

Nobody else may have the data open. It imports nothing of Magma.
"""

import sys
from pathlib import Path
from typing import Any

from milvus_lite.db import MilvusLite


def compact(collection: Any) -> None:
    """Flush, write the live rows of each partition to new files, delete the old ones and their indexes."""
    collection.flush()
    collection._wait_for_bg()
    manager, manifest, deleted = collection._compaction_mgr, collection._manifest, collection._delta_index
    with collection._maintenance_lock:
        for partition in manifest.list_partitions():
            files = list(manifest.get_data_files(partition))
            if files:
                folder = Path(collection._data_dir, "partitions", partition)
                manager._compact_files(partition, str(folder), files, manifest, deleted)
        manager._gc_tombstones(manifest, deleted)
        collection._refresh_segment_cache()
        collection._cleanup_orphan_index_files()


def main() -> None:
    """Compact every collection, then close in order."""
    database = MilvusLite(sys.argv[1])
    try:
        for name in database.list_collections():
            compact(database.get_collection(name))
    finally:
        database.close()


if __name__ == "__main__":
    main()
