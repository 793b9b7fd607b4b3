"""Rows of a LevelDB folder as a reader in Python shows them, for `larder`'s table of repaired stores.

    python3 peers/readers.py dfindexeddb|ccl_chromium_reader FOLDER

Of each key the row with the highest number, unless it is a deletion: the key and the value in hexadecimal, a line each. Each file is
read by itself, so that one at which the reader stops does not hide the others: what it has given until then counts.
"""

import pathlib
import sys


def dfindexeddb(path):
    from dfindexeddb.leveldb import record

    for found in record.LevelDBRecord.FromFile(path):
        row = found.record
        yield row.sequence_number, row.key, None if row.record_type == 0 else row.value


def ccl_chromium_reader(path):
    from ccl_chromium_reader.storage_formats import ccl_leveldb

    kind = ccl_leveldb.LogFile if path.suffix == ".log" else ccl_leveldb.LdbFile
    for row in kind(path):
        yield row.seq, row.user_key, None if row.state == ccl_leveldb.KeyState.Deleted else row.value


def main():
    reader = {"dfindexeddb": dfindexeddb, "ccl_chromium_reader": ccl_chromium_reader}[sys.argv[1]]
    newest = {}
    for path in sorted(pathlib.Path(sys.argv[2]).iterdir()):
        if path.suffix not in (".log", ".ldb"):
            continue
        try:
            for sequence, key, value in reader(path):
                if key not in newest or sequence >= newest[key][0]:
                    newest[key] = (sequence, value)
        except Exception as error:
            print(f"{path.name}: {type(error).__name__}: {error}", file=sys.stderr)
    for key, (_, value) in newest.items():
        if value is not None:
            print(key.hex(), value.hex())


main()
