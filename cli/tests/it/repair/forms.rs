//! The forms of damage that people meet, one by one: what is certain, what is salvaged, and what is said.

use std::fs;
use std::path::Path;

use larder_codec::RowKey;
use larder_codec::row_key::{GlobalKey, RecordTable};
use larder_leveldb::storage::DiskFileSystem;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Db, Durability, Options};
use serde_json::Value;

use super::harms::{as_of, dumped, records, shown};
use super::peers::{line_of, listing};
use super::{contents, repair, repaired, report};
use crate::support::{compare_with_browser, larder, stderr};
use larder_fixtures::OpenFixture;
use larder_fixtures::canonical::comparable;

const STORE: &str = "c156-killed-blob";
const RECORDS: u64 = 804;

fn source() -> OpenFixture {
    larder_fixtures::get(STORE).copy()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Repairs into a folder: its report and its salvaged records.
fn repaired_to(source: &OpenFixture, dir: &Path, options: &[&str]) -> (Value, Vec<Value>) {
    let before = contents(source.dir());
    let output = repair(&source.leveldb(), dir, options);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(contents(source.dir()), before, "the store was changed");
    (report(dir), lines(&dir.join("salvaged/records.jsonl")))
}

fn files_named(source: &OpenFixture, part: &str) -> Vec<std::path::PathBuf> {
    let all = fs::read_dir(source.leveldb()).unwrap();
    let all = all.map(|entry| entry.unwrap().path());
    let is_named = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.contains(part)
    };
    all.filter(is_named).collect()
}

#[test]
fn tables_without_any_manifest_are_not_certain_and_all_comes_back_with_doubtful() {
    let fixture = larder_fixtures::get("c156-lite");
    let source = fixture.copy();
    for path in files_named(&source, "MANIFEST") {
        fs::remove_file(path).unwrap();
    }
    let of_all = records(&shown(&comparable(&fixture.expected()))) as u64;
    let to = tempfile::tempdir().unwrap();
    let strict = to.path().join("strict");
    let (report, salvaged) = repaired_to(&source, &strict, &[]);
    assert_eq!(
        (&report["records"], &report["doubtful"]),
        (&0.into(), &of_all.into())
    );
    let why = report["nothingCertain"].as_str().unwrap();
    assert!(why.contains("cannot be known"), "{why}");
    assert!(report["asOf"].is_null());
    assert_eq!(salvaged.len() as u64, of_all);
    let doubts = salvaged
        .iter()
        .filter(|line| line["reason"] == "may-be-outdated");
    assert_eq!(doubts.count(), salvaged.len());
    let all = to.path().join("all");
    repaired_to(&source, &all, &["--with-doubtful"]);
    compare_with_browser(&fixture, &repaired(&source, &all), |_| {}).unwrap();
}

#[test]
fn where_nothing_is_certain_no_store_is_made_and_none_takes_the_place_of_the_damaged_one() {
    let fixture = larder_fixtures::get("c156-lite");
    let source = fixture.copy();
    for path in files_named(&source, "MANIFEST") {
        fs::remove_file(path).unwrap();
    }
    let before = contents(source.dir());
    let to = tempfile::tempdir().unwrap();
    let dir = to.path().join("out");
    let output = repair(&source.leveldb(), &dir, &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("nothing certain was found: no store was made"),
        "{said}"
    );
    assert!(said.contains("larder repair --with-doubtful"), "{said}");
    let report = report(&dir);
    assert_eq!(
        (&report["makesStore"], &report["repaired"]),
        (&false.into(), &Value::Null)
    );
    assert!(!repaired(&source, &dir).exists() && dir.join("salvaged/records.jsonl").exists());

    let leveldb = source.leveldb();
    let in_place = |more: &[&str]| {
        let options = ["--in-place"].iter().chain(more).map(std::ffi::OsStr::new);
        let arguments = ["repair".as_ref(), leveldb.as_os_str()];
        larder(arguments.into_iter().chain(options))
    };
    let refused = in_place(&[]);
    assert_eq!(refused.status.code(), Some(2));
    for part in [
        "no record is certain",
        "it is as it was",
        "give --to",
        "--with-doubtful",
    ] {
        assert!(
            stderr(&refused).contains(part),
            "{part}: {}",
            stderr(&refused)
        );
    }
    // Besides the lock, which a reader leaves as well.
    let mut after = contents(source.dir());
    after.retain(|(path, _)| {
        before.iter().any(|(other, _)| path == other) || !path.ends_with("LOCK")
    });
    assert_eq!(after, before);
    assert_eq!(in_place(&["--with-doubtful"]).status.code(), Some(1));
    compare_with_browser(&fixture, &leveldb, |_| {}).unwrap();
}

#[test]
fn a_log_from_the_first_write_on_has_everything_without_any_manifest() {
    let source = source();
    assert!(files_named(&source, ".ldb").is_empty());
    for path in files_named(&source, "MANIFEST") {
        fs::remove_file(path).unwrap();
    }
    let to = tempfile::tempdir().unwrap();
    let dir = to.path().join("out");
    let (report, salvaged) = repaired_to(&source, &dir, &[]);
    assert_eq!(
        (&report["records"], &report["doubtful"]),
        (&RECORDS.into(), &0.into())
    );
    assert!(report["nothingCertain"].is_null() && salvaged.is_empty());
    let fixture = larder_fixtures::get(STORE);
    compare_with_browser(&fixture, &repaired(&source, &dir), |_| {}).unwrap();
}

#[test]
fn what_a_transaction_wrote_whose_commit_is_lost_is_listed_and_taken_back() {
    let fixture = larder_fixtures::get("c131-lite");
    let source = fixture.copy();
    let log = files_named(&source, "000006.log").remove(0);
    // In the last records of a transaction that wrote to the engine before its commit.
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..699_209]).unwrap();
    let to = tempfile::tempdir().unwrap();
    let dir = to.path().join("out");
    let (report, salvaged) = repaired_to(&source, &dir, &[]);
    let is_listed = |line: &&Value| line["reason"] == "not-committed";
    let listed: Vec<_> = salvaged.iter().filter(is_listed).collect();
    let count = &report["doubtfulByReason"]["not-committed"];
    assert_eq!(*count, listed.len());
    // Chromium, which had the rest of the log, showed each of them, and in the repaired store are those before.
    let (then, now) = (
        listing(&fixture.copy().leveldb()),
        listing(&repaired(&source, &dir)),
    );
    assert!(listed.len() > 50, "{report}");
    for line in listed {
        let (place, value) = line_of(line).unwrap();
        assert_eq!(then.get(&place), Some(&value), "{place}");
        assert_ne!(now.get(&place), Some(&value), "{place}");
    }
}

#[test]
fn what_a_transaction_wrote_is_listed_too_if_a_table_with_its_commit_may_have_been() {
    let fixture = larder_fixtures::get("c110");
    let source = fixture.copy();
    for name in ["CURRENT", "MANIFEST-000001", "000009.ldb"] {
        fs::remove_file(source.leveldb().join(name)).unwrap();
    }
    let to = tempfile::tempdir().unwrap();
    let dir = to.path().join("out");
    let (report, salvaged) = repaired_to(&source, &dir, &[]);
    let (right, _) = judged(&salvaged, "not-committed", &fixture);
    assert!(right > 600, "{right}: {report}");
}

/// Zeros from one byte of the log to another.
fn zero_log(source: &OpenFixture, range: std::ops::Range<usize>) {
    let log = files_named(source, "000003.log").remove(0);
    let mut bytes = fs::read(&log).unwrap();
    bytes[range].fill(0);
    fs::write(&log, bytes).unwrap();
}

#[test]
fn what_a_transaction_wrote_before_a_loss_is_listed_though_another_has_deleted_it_afterwards() {
    let fixture = larder_fixtures::get("c156-killed-upgrade");
    let source = fixture.copy();
    // In it the commit of the first transaction is lost, which the golden store has; the second one had not committed.
    zero_log(&source, 319_645..323_291);
    let to = tempfile::tempdir().unwrap();
    let dir = to.path().join("out");
    let (report, salvaged) = repaired_to(&source, &dir, &[]);
    assert_eq!(report["records"], 0);
    let (right, _) = judged(&salvaged, "not-committed", &fixture);
    assert!(right > 410, "{right}: {report}");
}

#[test]
fn of_a_transaction_whose_undo_tasks_are_lost_nothing_is_among_the_certain() {
    for (name, range) in [
        ("c143-killed-spill", 360_225..361_547),
        ("c156-killed-spill-small", 365_821..373_634),
    ] {
        let fixture = larder_fixtures::get(name);
        let source = fixture.copy();
        zero_log(&source, range);
        let to = tempfile::tempdir().unwrap();
        let dir = to.path().join("out");
        let (report, salvaged) = repaired_to(&source, &dir, &[]);
        let truth = shown(&comparable(&fixture.expected()));
        // They are of the moment before the loss, and at the end the transaction would have been taken back.
        let certain = dumped(&repaired(&source, &dir));
        let certain = certain
            .iter()
            .filter(|(place, _)| place.starts_with("record"));
        assert!(
            certain
                .clone()
                .all(|(place, value)| truth.get(place) == Some(value)),
            "{name}"
        );
        assert_eq!(certain.count(), records(&truth), "{name}: {report}");
        let later: Vec<_> = salvaged
            .iter()
            .filter(|line| line["reason"] == "later")
            .collect();
        assert!(later.len() > 200, "{name}: {report}");
        for line in later {
            let why = line["why"].as_str().unwrap();
            assert!(
                why.contains("a transaction that had not committed"),
                "{why}"
            );
        }
    }
}

#[test]
fn a_certain_record_whose_blob_is_lost_is_listed_though_it_is_not_there_at_the_end() {
    let source = larder_fixtures::get("c92-killed-upgrade").copy();
    let blob = source.dir().join(blob_folder(&source)).join("1/00/2");
    fs::remove_file(blob).unwrap();
    // Behind the commit of the transaction that wrote it, so that it looks unfinished at the end.
    zero_log(&source, 319_488..319_504);
    let to = tempfile::tempdir().unwrap();
    let (report, salvaged) = repaired_to(&source, &to.path().join("out"), &[]);
    assert_eq!(report["records"], 500);
    let lost: Vec<_> = salvaged
        .iter()
        .filter(|line| line["reason"] == "blob-lost")
        .collect();
    assert_eq!(lost.len(), 1, "{report}");
    assert_eq!(
        (&lost[0]["store"], &lost[0]["key"]),
        (&"blobs".into(), &"calm".into())
    );
}

#[test]
fn where_nothing_is_left_of_the_leveldb_it_is_said() {
    let source = source();
    for (path, _) in contents(&source.leveldb()) {
        fs::remove_file(path).unwrap();
    }
    let to = tempfile::tempdir().unwrap();
    // With the exit status of damage.
    let (report, _) = repaired_to(&source, &to.path().join("out"), &[]);
    let problems = report["problems"].to_string();
    assert!(
        problems.contains("nothing is left of the LevelDB"),
        "{problems}"
    );
    assert_eq!(report["makesStore"], false);
}

#[test]
fn a_store_without_its_data_versions_gets_those_of_its_values() {
    let fixture = larder_fixtures::get("c83-lite");
    let source = fixture.copy();
    let row = |dir: &Path| {
        let mut key = Vec::new();
        GlobalKey::DataVersion.encode(&mut key);
        let options = Options::new(std::sync::Arc::new(larder_backing_store::IdbComparator));
        let fs = std::sync::Arc::new(DiskFileSystem::new());
        let db = Db::open_read_only(fs, dir, options).unwrap();
        db.get(&key).unwrap()
    };
    let had = row(&source.leveldb());
    fs::remove_file(source.leveldb().join("000005.ldb")).unwrap();
    assert!(had.is_some());
    let to = tempfile::tempdir().unwrap();
    let dir = to.path().join("out");
    repaired_to(&source, &dir, &["--with-doubtful"]);
    // A Chromium 83 throws away a store that says that it has those of a later one.
    assert_eq!(row(&repaired(&source, &dir)), had);
}

#[test]
fn of_a_log_that_was_cut_the_state_before_is_kept_and_the_moment_is_named() {
    let source = source();
    let log = files_named(&source, ".log").remove(0);
    let bytes = fs::read(&log).unwrap();
    // Behind the first transaction, which nearly all of it is.
    fs::write(&log, &bytes[..bytes.len() / 10 * 9]).unwrap();
    let to = tempfile::tempdir().unwrap();
    let dir = to.path().join("out");
    let (report, _) = repaired_to(&source, &dir, &[]);
    let sequence = report["asOf"]["sequence"].as_u64().unwrap();
    let why = report["asOf"]["why"].as_str().unwrap();
    assert!(why.contains("can be read up to byte"), "{why}");
    let fixture = larder_fixtures::get(STORE);
    let earlier = dumped(&as_of(&fixture, sequence).leveldb());
    let kept = dumped(&repaired(&source, &dir));
    assert_eq!(kept, earlier);
    let count = records(&kept) as u64;
    assert!((1..RECORDS).contains(&count), "{count}");
    let said = repair(&source.leveldb(), &to.path().join("again"), &[]);
    let said = String::from_utf8(said.stdout).unwrap();
    let moment = format!("as it was before a loss, after write {sequence}: 000003.log");
    assert!(said.contains(&moment), "{said}");
}

#[test]
fn of_a_store_that_chromium_has_discarded_the_blobs_are_salvaged() {
    let source = source();
    let blobs = fs::read_dir(source.dir().join(blob_folder(&source)).join("1/00"));
    let blobs = blobs.unwrap().count() as u64;
    for (path, _) in contents(&source.leveldb()) {
        fs::remove_file(path).unwrap();
    }
    let note = source.leveldb().join("corruption_info.json");
    fs::write(note, r#"{"message":"Checksum mismatch"}"#).unwrap();
    let to = tempfile::tempdir().unwrap();
    let dir = to.path().join("out");
    let (report, _) = repaired_to(&source, &dir, &[]);
    assert_eq!(report["chromiumSaid"], "Checksum mismatch");
    assert!(report["repaired"].is_null() && !repaired(&source, &dir).exists());
    assert!(blobs > 5);
    assert_eq!(report["looseBlobs"], blobs);
    let saved = fs::read_dir(dir.join("salvaged/blobs/1/00"))
        .unwrap()
        .count();
    assert_eq!(saved as u64, blobs);
}

fn blob_folder(source: &OpenFixture) -> String {
    let name = source
        .leveldb()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    name.replace(".leveldb", ".blob")
}

/// Deletes rows of the store, as if they were lost without a trace.
fn delete(source: &OpenFixture, is_lost: impl Fn(&RowKey<'_>) -> bool) -> usize {
    let mut options = Options::new(std::sync::Arc::new(larder_backing_store::IdbComparator));
    options.background = larder_leveldb::Background::Caller;
    let fs = std::sync::Arc::new(DiskFileSystem::new());
    let db = Db::open(fs, &source.leveldb(), options).unwrap();
    let mut batch = BatchWriter::new();
    let mut count = 0;
    let mut iter = db.iter();
    iter.seek_to_first().unwrap();
    while iter.valid() {
        if RowKey::decode_exact(iter.key()).is_ok_and(|key| is_lost(&key)) {
            batch.delete(iter.key());
            count += 1;
        }
        iter.next().unwrap();
    }
    db.write(&mut batch, Durability::Strict).unwrap();
    db.close().unwrap();
    count
}

#[test]
fn records_of_a_database_without_its_name_row_are_salvaged_under_a_generated_name() {
    let source = source();
    let is_name = |key: &RowKey<'_>| matches!(key, RowKey::Global(GlobalKey::DatabaseName { .. }));
    assert_eq!(delete(&source, is_name), 1);
    let to = tempfile::tempdir().unwrap();
    let dir = to.path().join("out");
    let (report, salvaged) = repaired_to(&source, &dir, &[]);
    assert_eq!(
        (&report["databases"], &report["records"]),
        (&0.into(), &0.into())
    );
    // With those that an unfinished transaction had written, which recovery takes back.
    assert_eq!(salvaged.len() as u64, RECORDS);
    for line in &salvaged {
        assert_eq!(line["reason"], "no-metadata");
        assert_eq!(
            (&line["generated"], &line["database"]),
            (&true.into(), &"database-1".into())
        );
    }
}

#[test]
fn a_record_without_its_value_is_listed_as_lost_and_one_without_its_exists_row_as_incomplete() {
    let source = source();
    let of = |table: RecordTable| move |key: &RowKey<'_>| matches!(key, RowKey::Record(key) if key.table == table && key.object_store_id.get() == 1);
    let values = delete(&source, of(RecordTable::Data)) as u64;
    assert!(values > 10);
    let to = tempfile::tempdir().unwrap();
    let dir = to.path().join("out");
    let (report, _) = repaired_to(&source, &dir, &[]);
    assert_eq!(report["lost"], values);
    let lost = lines(&dir.join("salvaged/lost.jsonl"));
    assert_eq!(lost.len() as u64, values);
    assert!(
        lost.iter()
            .all(|line| line["reason"] == "lost" && !line["key"].is_null())
    );

    let source = self::source();
    delete(&source, of(RecordTable::Exists));
    let dir = to.path().join("other");
    let (_, salvaged) = repaired_to(&source, &dir, &[]);
    assert_eq!(salvaged.len() as u64, values);
    assert!(salvaged.iter().all(|line| line["reason"] == "incomplete"));
}

#[test]
fn a_record_whose_blob_is_lost_is_in_doubt_and_its_blob_file_is_kept() {
    let source = source();
    let blobs = Path::new(&blob_folder(&source)).join("1/00");
    let to = tempfile::tempdir().unwrap();
    // Some files are of transactions that were not finished.
    repair(&source.leveldb(), &to.path().join("whole"), &[]);
    let kept = contents(&to.path().join("whole").join(&blobs));
    let (path, bytes) = kept.iter().find(|(_, bytes)| bytes.len() > 600).unwrap();
    let path = blobs.join(path.file_name().unwrap());
    let saved = Path::new("salvaged/blobs/1/00").join(path.file_name().unwrap());
    let zeros = vec![0; bytes.len()];
    for (name, harmed, part) in [
        ("cut", Some(&bytes[1..]), "bytes, not"),
        ("zeros", Some(&zeros), "nothing but zeros"),
        ("gone", None, "No such file"),
    ] {
        match harmed {
            Some(bytes) => fs::write(source.dir().join(&path), bytes).unwrap(),
            None => fs::remove_file(source.dir().join(&path)).unwrap(),
        }
        let dir = to.path().join(name);
        let (report, salvaged) = repaired_to(&source, &dir, &[]);
        assert_eq!(report["records"], RECORDS - 1, "{name}");
        assert_eq!(salvaged.len(), 1, "{name}");
        assert_eq!(salvaged[0]["reason"], "blob-lost");
        let why = salvaged[0]["why"].as_str().unwrap();
        assert!(why.contains(part), "{part}: {why}");
        assert_eq!(fs::read(dir.join(&saved)).ok().as_deref(), harmed, "{name}");
    }
}

#[test]
fn where_the_store_does_not_say_how_long_a_file_was_one_that_is_gone_is_lost_all_the_same() {
    let source = larder_fixtures::get("c75-killed-blob").copy();
    let to = tempfile::tempdir().unwrap();
    repair(&source.leveldb(), &to.path().join("whole"), &[]);
    let whole = report(&to.path().join("whole"));
    assert!(whole["unmeasuredBlobs"].as_u64() > Some(0), "{whole}");
    fs::remove_file(source.dir().join(blob_folder(&source)).join("1/00/6")).unwrap();
    let (report, salvaged) = repaired_to(&source, &to.path().join("out"), &[]);
    let records = |report: &Value| report["records"].as_u64().unwrap();
    assert_eq!(records(&report) + 1, records(&whole));
    assert_eq!(
        (salvaged.len(), &salvaged[0]["reason"]),
        (1, &"blob-lost".into())
    );
}

#[test]
fn a_record_whose_value_lies_in_a_blob_that_was_cut_is_one_whose_blob_is_lost() {
    let source = larder_fixtures::get("c92-lite").copy();
    let path = source.dir().join(blob_folder(&source)).join("d/00/7");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..141_982]).unwrap();
    let to = tempfile::tempdir().unwrap();
    let (_, salvaged) = repaired_to(&source, &to.path().join("out"), &[]);
    assert_eq!(salvaged.len(), 1);
    assert_eq!(salvaged[0]["reason"], "blob-lost");
    let why = salvaged[0]["why"].as_str().unwrap();
    assert!(
        why.contains("d/00/7: it has 141982 bytes, not 300014"),
        "{why}"
    );
    assert!(salvaged[0]["value"].is_null() && salvaged[0]["raw"].is_string());
}

#[test]
fn an_index_whose_rows_are_lost_is_made_anew_from_the_values() {
    let fixture = larder_fixtures::get("c110-lite");
    let source = fixture.copy();
    let lost = delete(&source, |key| matches!(key, RowKey::IndexData(_)));
    assert!(lost > 50, "{lost}");
    // That rows are lost must be known: else each index row that a browser has left out would be put back.
    fs::remove_file(source.leveldb().join("CURRENT")).unwrap();
    let to = tempfile::tempdir().unwrap();
    let dir = to.path().join("out");
    let (report, _) = repaired_to(&source, &dir, &[]);
    assert!(report["indexEntriesMade"].as_u64().unwrap() > 50);
    compare_with_browser(&fixture, &repaired(&source, &dir), |_| {}).unwrap();
}

#[test]
fn a_value_that_does_not_decode_is_salvaged_as_its_bytes() {
    let source = source();
    let mut options = Options::new(std::sync::Arc::new(larder_backing_store::IdbComparator));
    options.background = larder_leveldb::Background::Caller;
    let disk = std::sync::Arc::new(DiskFileSystem::new());
    let db = Db::open(disk, &source.leveldb(), options).unwrap();
    let mut iter = db.iter();
    iter.seek_to_first().unwrap();
    let is_data = |key: &[u8]| matches!(RowKey::decode_exact(key), Ok(RowKey::Record(key)) if key.table == RecordTable::Data);
    while !is_data(iter.key()) {
        iter.next().unwrap();
    }
    let (key, mut value) = (iter.key().to_vec(), iter.value().unwrap()[..1].to_vec());
    value.extend_from_slice(&[0xff, 0xfe, 0x00]);
    db.put(&key, &value, Durability::Strict).unwrap();
    drop(iter);
    db.close().unwrap();
    let to = tempfile::tempdir().unwrap();
    let (_, salvaged) = repaired_to(&source, &to.path().join("out"), &[]);
    assert_eq!(salvaged.len(), 1);
    assert_eq!(salvaged[0]["reason"], "undecodable");
    assert!(
        salvaged[0]["raw"].as_str().unwrap().ends_with("fffe00"),
        "{}",
        salvaged[0]
    );
}

/// The lines with this reason, how many of them are a golden store's records as they were, and the other ones.
fn judged(salvaged: &[Value], reason: &str, fixture: &larder_fixtures::Fixture) -> (usize, usize) {
    let truth = listing(&fixture.copy().leveldb());
    let lines = salvaged.iter().filter(|line| line["reason"] == reason);
    let (right, wrong): (Vec<_>, Vec<_>) = lines.partition(|line| {
        line_of(line).is_some_and(|(place, value)| truth.get(&place) == Some(&value))
    });
    (right.len(), wrong.len())
}

#[test]
fn what_can_be_made_out_in_a_damaged_log_record_is_listed_apart_and_kept_from_the_store() {
    let fixture = larder_fixtures::get("c75-killed-upgrade");
    let source = fixture.copy();
    let log = files_named(&source, ".log").remove(0);
    let mut bytes = fs::read(&log).unwrap();
    // In the record that has all: 170 kB.
    bytes[12_288..12_309].fill(0xee);
    fs::write(&log, &bytes).unwrap();
    let to = tempfile::tempdir().unwrap();
    let dir = to.path().join("out");
    let (report, salvaged) = repaired_to(&source, &dir, &[]);
    assert_eq!(report["records"], 0);
    let (right, wrong) = judged(&salvaged, "damaged", &fixture);
    assert!(right >= 499 && wrong <= 2, "{right} right, {wrong} wrong");
    assert_eq!(report["doubtfulByReason"]["damaged"], right + wrong);
    let line = salvaged.iter().find(|line| line["reason"] == "damaged");
    let why = line.unwrap()["why"].as_str().unwrap();
    assert!(why.contains("000003.log"), "{why}");
    // A record with a value is not listed as lost.
    let lost = lines(&dir.join("salvaged/lost.jsonl"));
    let key = |line: &Value| format!("{} {} {}", line["database"], line["store"], line["key"]);
    let damaged: std::collections::HashSet<_> = salvaged.iter().map(key).collect();
    assert!(!lost.iter().any(|line| damaged.contains(&key(line))));
    // Nothing of it goes into a store.
    let all = to.path().join("all");
    let (report, _) = repaired_to(&source, &all, &["--with-doubtful"]);
    assert_eq!(report["doubtfulByReason"]["damaged"], right + wrong);
    assert_eq!(records(&dumped(&repaired(&source, &all))), 0);
}

#[test]
fn what_can_be_made_out_in_a_damaged_block_is_listed_apart() {
    let fixture = larder_fixtures::get("c64-lite");
    let source = fixture.copy();
    let table = files_named(&source, "000005.ldb").remove(0);
    let bytes = fs::read(&table).unwrap();
    let to = tempfile::tempdir().unwrap();
    let (mut right, mut wrong) = (0, 0);
    // In a block with 72 records: a byte of what snappy has left as it is, or of how it is packed, behind which nothing unpacks.
    for at in 24_480..24_488 {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x55;
        fs::write(&table, &bytes).unwrap();
        let dir = to.path().join(at.to_string());
        let (_, salvaged) = repaired_to(&source, &dir, &[]);
        let (one_right, one_wrong) = judged(&salvaged, "damaged", &fixture);
        (right, wrong) = (right + one_right, wrong + one_wrong);
    }
    assert!(
        right > 200 && right > 50 * wrong,
        "{right} right, {wrong} wrong"
    );
}
