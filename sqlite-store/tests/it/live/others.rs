//! What others have made or have open is left as it is.

use super::*;

#[test]
fn who_has_a_store_open_keeps_others_out() {
    let place = Place::new();
    let (store, _) = place.made(KeyPath::Null);
    let error = place.open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    store.close().unwrap();
    // As Chromium has it.
    let chromium = Connection::open(place.file()).unwrap();
    chromium
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT")
        .unwrap();
    let error = place.open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    drop(chromium);
    let _store = place.open().unwrap();
}

#[test]
fn a_store_that_is_not_wholly_understood_is_left_as_it_is() {
    let fixture = larder_fixtures::get("s143-lite").open();
    let before = contents(&fixture.sqlite());
    let fs = Arc::new(DiskFileSystem::new());
    let opened = larder_sqlite_store::open_for_writing(fs, &fixture.sqlite(), Place::options());
    let error = opened.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert_eq!(contents(&fixture.sqlite()), before);
    let place = Place::new();
    let (store, _) = place.made(KeyPath::Null);
    store.close().unwrap();
    Connection::open(place.file())
        .unwrap()
        .execute("UPDATE object_stores SET name = x'61'", ())
        .unwrap();
    let before = contents(&place.dir());
    let error = place.open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert_eq!(contents(&place.dir()), before);
}

fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let listed = fs::read_dir(dir).unwrap();
    let mut all: Vec<_> = listed
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && !path.ends_with("LOCK"))
        .map(|path| (path.clone(), fs::read(&path).unwrap()))
        .collect();
    all.sort();
    all
}

#[test]
fn nothing_that_another_has_made_is_taken_away() {
    let place = Place::new();
    // What cannot be listed is no empty store.
    fs::create_dir_all(place.folder.path()).unwrap();
    fs::write(place.dir(), b"a file").unwrap();
    let mut options = Place::options();
    options.create_if_missing = true;
    let disk: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
    let opened =
        larder_sqlite_store::open_for_writing(Arc::clone(&disk), &place.dir(), options.clone());
    assert!(opened.is_err());
    assert_eq!(fs::read(place.dir()).unwrap(), b"a file");
    fs::remove_file(place.dir()).unwrap();
    // A browser makes a database of the name meanwhile.
    let store = larder_sqlite_store::open_for_writing(disk, &place.dir(), options).unwrap();
    let theirs = Place::new();
    theirs.made(KeyPath::Null).0.close().unwrap();
    fs::copy(theirs.file(), place.file()).unwrap();
    let database = store.create_database(&JsString::from("")).unwrap();
    let scope = Scope::VersionChange(database);
    let mut change = store.begin(scope, Durability::Strict).unwrap();
    change.set_version(1).unwrap();
    let error = change.commit().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(
        fs::read(theirs.file()).unwrap(),
        fs::read(place.file()).unwrap()
    );
}

/// The variable that gives a child the file that it tries to have alone.
const CHILD: &str = "LARDER_SQLITE_LOCK_CHILD";

#[test]
fn a_child_that_wants_a_file_alone_does_nothing_without_its_parent() {
    let Some(file) = std::env::var_os(CHILD) else {
        return;
    };
    let connection = Connection::open(file).unwrap();
    connection.busy_timeout(std::time::Duration::ZERO).unwrap();
    let alone = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT";
    assert!(connection.execute_batch(alone).is_err());
}

#[test]
fn reading_a_store_that_this_process_writes_to_gives_none_of_its_locks_up() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    ids.put(&store, &Key::Number(1.0), VALUE, &[]);
    let disk: Arc<dyn FileSystem> = Arc::new(DiskFileSystem::new());
    let read = larder_sqlite_store::open(&disk, &place.dir(), &std::env::temp_dir()).unwrap();
    assert!(read.recovery().problems.is_empty());
    ids.put(&store, &Key::Number(2.0), VALUE, &[]);
    assert_eq!(ids.keys(&read).0.len(), 1);
    drop(read);
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "live::others::a_child_that_wants_a_file_alone_does_nothing_without_its_parent",
            "--exact",
        ])
        .env(CHILD, place.file())
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn a_file_without_chromiums_triggers_or_with_others_is_not_written_to() {
    for statement in [
        "DROP TRIGGER on_record_deleted",
        "DROP INDEX records_by_key",
        "DROP INDEX records_by_key; CREATE INDEX records_by_key ON records (object_store_id, key)",
        "DROP TRIGGER on_record_deleted; CREATE TRIGGER on_record_deleted AFTER DELETE ON records BEGIN SELECT 1; END",
        "CREATE TRIGGER other AFTER INSERT ON records BEGIN DELETE FROM records; END",
    ] {
        let place = Place::new();
        place.made(KeyPath::Null).0.close().unwrap();
        let connection = Connection::open(place.file()).unwrap();
        connection.execute_batch(statement).unwrap();
        drop(connection);
        let error = place.open().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{statement}: {error}");
    }
}

#[test]
fn a_store_is_deleted_with_what_is_its_unless_another_has_it_open() {
    let place = Place::new();
    let (store, ids) = place.made(KeyPath::Null);
    ids.put(&store, &Key::Number(1.0), VALUE, &[]);
    let disk = DiskFileSystem::new();
    let delete = || larder_sqlite_store::delete_store(&disk, &place.dir());
    assert_eq!(delete().unwrap_err().kind(), ErrorKind::Conflict);
    store.close().unwrap();
    let chromium = Connection::open(place.file()).unwrap();
    let alone = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT";
    chromium.execute_batch(alone).unwrap();
    assert_eq!(delete().unwrap_err().kind(), ErrorKind::Conflict);
    drop(chromium);
    fs::write(place.dir().join("a person's notes.txt"), b"mine").unwrap();
    delete().unwrap();
    assert_eq!(place.names(), ["a person's notes.txt"]);
    fs::remove_file(place.dir().join("a person's notes.txt")).unwrap();
    place.made(KeyPath::Null).0.close().unwrap();
    delete().unwrap();
    assert!(!place.dir().exists());
    delete().unwrap();
}
