//! A crash at any operation of the file system.

use super::*;
use larder_leveldb::storage::{CrashImage, Fault, FaultFileSystem};

struct Run {
    acknowledged: Vec<(Commit, Map)>,
    tried: Vec<CommitId>,
}

fn crash_options() -> PageOptions {
    PageOptions {
        prune: PrunePolicy::LocalImmediate,
        ..options()
    }
}

/// A program that ends with the first error.
fn run(files: Arc<dyn FileSystem>, seed: u64) -> Run {
    let mut done = Run {
        acknowledged: vec![(Commit::first(), Map::new())],
        tried: Vec::new(),
    };
    // Whatever fails has been cut short by the crash.
    let _ = steps(files, seed, &mut done);
    done
}

fn steps(files: Arc<dyn FileSystem>, seed: u64, done: &mut Run) -> Result<()> {
    let page = Page::open(files, Path::new("page"), crash_options())?;
    let mut random = Random::new(seed);
    for step in 0..14 {
        let (base, map) = done.acknowledged.last().unwrap();
        let (mut map, mut journal) = (map.clone(), page.begin_on(base));
        for _ in 0..random.below(6) {
            let key = format!("key{}", random.below(25)).into_bytes();
            let value = value(&mut random);
            match random.below(5) {
                0 => {
                    journal.delete(&key)?;
                    map.remove(&key);
                }
                1 => {
                    journal.put_stream(&key, &value[..], Priority::Eager)?;
                    map.insert(key, value);
                }
                _ => {
                    journal.put(&key, &value)?;
                    map.insert(key, value);
                }
            }
        }
        if random.below(5) > 0 {
            let commit = page.commit(journal, Timestamp(step));
            done.tried.extend(commit.as_ref().ok().map(Commit::id));
            done.acknowledged.push((commit?, map));
        }
        if random.below(3) == 0 {
            for id in page.unsynced_commits()? {
                page.mark_synced(&[], &[id])?;
            }
            page.prune()?;
            page.collect()?;
        }
    }
    page.close()?;
    Ok(())
}

#[test]
fn a_crash_at_any_operation_leaves_what_was_acknowledged_and_nothing_else_for_ever() {
    let total = {
        let files = Arc::new(FaultFileSystem::new(Arc::new(MemoryFileSystem::new())));
        run(files.clone(), 1);
        files.operations()
    };
    let stride = std::env::var("LARDER_FAULT_STRIDE").map_or(7, |n| n.parse().unwrap());
    assert!(total > 300, "{total} operations");
    for at in (1..=total).step_by(stride) {
        let memory = Arc::new(MemoryFileSystem::new());
        let files = Arc::new(FaultFileSystem::new(memory.clone()));
        files.fail_at(Fault {
            operation: at,
            kind: std::io::ErrorKind::Other,
            every_later_too: true,
        });
        let done = run(files, 1);
        for image in [
            CrashImage::KeepWritten,
            CrashImage::LoseUnsynced,
            CrashImage::Tear { seed: at },
            CrashImage::Pages { seed: at },
        ] {
            let after = Arc::new(memory.crash_image(image));
            let page = Page::open(after, Path::new("page"), crash_options()).unwrap();
            let heads = page.heads();
            let [head] = &heads[..] else {
                panic!("operation {at}, {image:?}: {heads:?}");
            };
            let (last, map) = done.acknowledged.last().unwrap();
            if head.id() == last.id() {
                assert_eq!(content(&page, head), *map, "operation {at}, {image:?}");
            } else {
                // The commit that was under way, whole.
                assert_eq!(head.parents(), [last.id()], "operation {at}, {image:?}");
                content(&page, head);
            }
            check_rows(&page, false);
            page.collect().unwrap();
            check_rows(&page, true);
            page.prune().unwrap();
            page.collect().unwrap();
            check_rows(&page, true);
        }
    }
}
