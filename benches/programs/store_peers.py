"""Writers that the bench `timings_store` puts beside ours: one process, COUNT durable updates.

store_peers.py filelock|sqlite DIR WRITER COUNT
"""

import json
import os
import sqlite3
import sys
import tempfile

HARDWARE = "hw_3d836072b1cf2b24"


def filelock_updates(directory, writer, count):
    """A JSON file under `filelock`, at its default poll interval of 0.05 s."""
    from filelock import FileLock

    path = os.path.join(directory, "timings.json")
    lock = FileLock(path + ".lock", timeout=900)
    yield
    for step in range(count):
        with lock:
            try:
                with open(path, encoding="utf-8") as file:
                    timings = json.load(file)
            except FileNotFoundError:
                timings = {}
            stage = timings.setdefault("train", {"runs": [], "total_seconds": 0.0})
            run_idx = 1 + writer * count + step
            stage["runs"].append({"hardware_id": HARDWARE, "run_idx": run_idx, "seconds": 0.25})
            stage["total_seconds"] = sum(run["seconds"] for run in stage["runs"])
            handle, temporary = tempfile.mkstemp(dir=directory)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(timings, file, indent=2, sort_keys=True)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            handle = os.open(directory, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)


def sqlite_updates(directory, writer, count):
    """A database in WAL mode; `synchronous=FULL` syncs each commit."""
    connection = sqlite3.connect(
        os.path.join(directory, "timings.sqlite"), timeout=900, isolation_level=None
    )
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS runs"
        " (stage TEXT, hardware_id TEXT, run_idx INTEGER, label TEXT, seconds REAL,"
        " UNIQUE (stage, run_idx, label))"
    )
    yield
    for step in range(count):
        connection.execute(
            "INSERT OR REPLACE INTO runs VALUES ('train', ?, ?, '', 0.25)",
            (HARDWARE, 1 + writer * count + step),
        )


def main():
    kind, directory, writer, count = sys.argv[1:]
    updates = {"filelock": filelock_updates, "sqlite": sqlite_updates}[kind]
    work = updates(directory, int(writer), int(count))
    next(work)
    print("ready", flush=True)
    sys.stdin.read()
    for _ in work:
        pass
    print("done", flush=True)


main()
