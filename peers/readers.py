"""Rows of LevelDB folders as a reader in Python shows them, for `larder`'s table of repaired stores.

    python3 peers/readers.py dfindexeddb|ccl_chromium_reader

Each line of the input names a folder, and each answer ends with an empty line, so that one process reads thousands. Of each key the
row with the highest number, unless it is a deletion: the key and the value in hexadecimal, a line each. Each file is read by itself, so
that one at which the reader stops does not hide the others: what it has given until then counts.
"""

import pathlib
import sys


def dfindexeddb():
    from dfindexeddb.leveldb import record

    def rows(path):
        for found in record.LevelDBRecord.FromFile(path):
            row = found.record
            yield row.sequence_number, row.key, None if row.record_type == 0 else row.value

    return rows


def ccl_chromium_reader():
    from ccl_chromium_reader.storage_formats import ccl_leveldb

    def rows(path):
        kind = ccl_leveldb.LogFile if path.suffix == ".log" else ccl_leveldb.LdbFile
        for row in kind(path):
            yield row.seq, row.user_key, None if row.state == ccl_leveldb.KeyState.Deleted else row.value

    return rows


def newest_rows(rows_of, folder):
    newest = {}
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".log", ".ldb"):
            continue
        try:
            for sequence, key, value in rows_of(path):
                if key not in newest or sequence >= newest[key][0]:
                    newest[key] = (sequence, value)
        except Exception as error:
            print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
    return newest


def main():
    # A reader that is not installed ends this here, and is not taken for one that finds nothing.
    rows_of = {"dfindexeddb": dfindexeddb, "ccl_chromium_reader": ccl_chromium_reader}[sys.argv[1]]()
    for line in sys.stdin:
        for key, (_, value) in newest_rows(rows_of, pathlib.Path(line.rstrip("\n"))).items():
            if value is not None:
                print(key.hex(), value.hex())
        print(flush=True)


main()
