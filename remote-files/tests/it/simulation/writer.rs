//! A process that writes: it takes the namespace, does some of everything, and begins again when it has lost it or died.

use super::Setting;
use super::oracle::Files;
use super::schedule::Process;
use crate::support::{LEASE, namespace, read};
use larder_leveldb::storage::{FileSystem, WritableFile};
use larder_remote_files::{Cluster, RemoteFileSystem, Session, SessionOptions};
use std::io;
use std::path::Path;

const NAMES: [&str; 4] = ["CURRENT", "log", "table", "tmp"];

/// A file that is being written, with what was added to it.
struct Open {
    name: &'static str,
    file: Box<dyn WritableFile>,
    content: Vec<u8>,
}

struct Writer<'a> {
    setting: &'a Setting,
    process: Process,
    session: Session,
    fs: RemoteFileSystem,
    epoch: u32,
    /// What this process has written, flushed or not.
    own: Files,
    open: Option<Open>,
}

pub(crate) fn run(setting: &Setting, slot: usize) {
    let schedule = &setting.schedule;
    schedule.pause(slot, std::time::Duration::ZERO);
    while !schedule.is_over() {
        let process = Process::of(schedule, slot, setting.per_mille);
        if let Ok(mut writer) = Writer::begin(setting, &process) {
            let steps = 5 + schedule.random(60);
            let done = (0..steps).try_for_each(|_| writer.step());
            if done.is_ok() && schedule.random(2) == 0 {
                writer.close();
            }
        }
        schedule.pause(slot, LEASE * schedule.random(3) as u32 / 2);
    }
    schedule.finish(slot);
}

pub(crate) fn read_all(fs: &RemoteFileSystem) -> io::Result<Files> {
    let mut files = Files::new();
    for name in NAMES {
        match read(fs, name) {
            Ok(bytes) => {
                files.insert(name, bytes);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(files)
}

impl<'a> Writer<'a> {
    fn begin(setting: &'a Setting, process: &Process) -> io::Result<Writer<'a>> {
        let (catalogue, blobs) = setting.engine(process);
        let cluster = Cluster::new(
            catalogue,
            blobs,
            std::sync::Arc::new(process.clone()),
            LEASE,
        );
        let mut nonce = [process.slot as u8; 16];
        nonce[..8].copy_from_slice(&setting.schedule.random(u64::MAX).to_be_bytes());
        let options = SessionOptions {
            nonce,
            label: format!("process {}.{}", process.slot, process.incarnation),
            duration: LEASE,
        };
        let session = Session::begin(&cluster, options)?;
        let fs =
            RemoteFileSystem::write(&session, &namespace(), setting.options.clone(), LEASE * 3)?;
        let epoch = fs.epoch().unwrap();
        let own = match read_all(&fs) {
            Ok(own) => own,
            Err(error) => {
                setting.judge(process, epoch, &error);
                return Err(error);
            }
        };
        setting.oracle.taken(epoch, own.clone());
        Ok(Writer {
            setting,
            process: process.clone(),
            session,
            fs,
            epoch,
            own,
            open: None,
        })
    }

    fn random(&self, limit: u64) -> u64 {
        self.setting.schedule.random(limit)
    }

    fn step(&mut self) -> io::Result<()> {
        if self.session.due_in().is_zero() {
            self.session.renew()?;
        }
        match self.random(12) {
            0 | 1 => self.create(),
            2..=4 => self.add(true),
            5 => self.add(false),
            6 => self.rename(),
            7 => self.remove(),
            8 => self.reopen(),
            9 => self.truncate(),
            10 => self.look(),
            _ => self.fs.tick(),
        }
    }

    fn name(&self) -> &'static str {
        NAMES[self.random(NAMES.len() as u64) as usize]
    }

    /// Bytes that no other process and no other step writes. One at least: a sync of nothing new is no commit, and succeeds in a
    /// process that has lost the namespace, too.
    fn bytes(&self) -> Vec<u8> {
        let len = match self.random(4) {
            0 => 1 + self.random(700),
            1 => 100,
            _ => 1 + self.random(60),
        } as usize;
        let mark = format!("<{}.{}>", self.epoch, self.random(1_000_000));
        mark.bytes().cycle().take(len).collect()
    }

    /// Does what changes the files so.
    fn change<T>(
        &mut self,
        change: impl Fn(&mut Files),
        act: impl FnOnce(&mut Self) -> io::Result<T>,
    ) -> io::Result<T> {
        let begun = self.setting.oracle.begin(self.epoch, &change);
        let done = act(self)?;
        self.setting.oracle.acknowledge(self.epoch, begun);
        change(&mut self.own);
        Ok(done)
    }

    /// Does what changes the names so: in memory for now.
    fn defer<T>(
        &mut self,
        change: impl Fn(&mut Files),
        act: impl FnOnce(&mut Self) -> io::Result<T>,
    ) -> io::Result<T> {
        // It may be committed before the call returns.
        self.setting.oracle.defer(self.epoch, &change);
        let done = act(self)?;
        change(&mut self.own);
        Ok(done)
    }

    /// The handle goes, and what it has is committed, or is not.
    fn close_file(&mut self) {
        if let Some(open) = self.open.take() {
            let Open {
                name,
                file,
                content,
            } = open;
            if self.own.contains_key(name) {
                let kept = content.clone();
                drop(
                    self.setting
                        .oracle
                        .begin(self.epoch, move |files| set(files, name, &kept)),
                );
                self.own.insert(name, content);
            }
            drop(file);
        }
    }

    fn create(&mut self) -> io::Result<()> {
        self.close_file();
        let name = self.name();
        let file = self.defer(
            |files| {
                files.insert(name, Vec::new());
            },
            |writer| writer.fs.create(Path::new(name)),
        )?;
        self.open = Some(Open {
            name,
            file,
            content: Vec::new(),
        });
        self.add(self.random(3) > 0)
    }

    /// Adds to the file that is open, and syncs or flushes it.
    fn add(&mut self, is_synced: bool) -> io::Result<()> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        let bytes = self.bytes();
        open.content.extend_from_slice(&bytes);
        let (name, content) = (open.name, open.content.clone());
        let change = move |files: &mut Files| set(files, name, &content);
        let begun = self.setting.oracle.begin(self.epoch, &change);
        open.file.append(&bytes)?;
        match is_synced {
            true => {
                open.file.sync()?;
                self.setting.oracle.acknowledge(self.epoch, begun);
            }
            false => open.file.flush()?,
        }
        change(&mut self.own);
        self.open = Some(open);
        Ok(())
    }

    fn rename(&mut self) -> io::Result<()> {
        self.close_file();
        let (from, to) = (self.name(), self.name());
        if from == to || !self.own.contains_key(from) {
            return Ok(());
        }
        self.change(
            |files| {
                if let Some(bytes) = files.remove(from) {
                    files.insert(to, bytes);
                }
            },
            |writer| writer.fs.rename(Path::new(from), Path::new(to)),
        )
    }

    fn remove(&mut self) -> io::Result<()> {
        let name = self.name();
        if !self.own.contains_key(name) {
            return Ok(());
        }
        self.defer(
            |files| {
                files.remove(name);
            },
            |writer| writer.fs.remove(Path::new(name)),
        )?;
        if self.open.as_ref().is_some_and(|open| open.name == name) {
            self.open = None;
        }
        Ok(())
    }

    /// Goes on with a file that is there.
    fn reopen(&mut self) -> io::Result<()> {
        self.close_file();
        let name = self.name();
        let Some(content) = self.own.get(name).cloned() else {
            return Ok(());
        };
        let file = self.fs.append(Path::new(name))?;
        self.open = Some(Open {
            name,
            file,
            content,
        });
        self.add(true)
    }

    fn truncate(&mut self) -> io::Result<()> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        let len = self.random(open.content.len() as u64 + 1) as usize;
        open.content.truncate(len);
        let (name, content) = (open.name, open.content.clone());
        self.change(
            move |files| set(files, name, &content),
            |_| {
                open.file.truncate(len as u64)?;
                Ok(open)
            },
        )
        .map(|open| self.open = Some(open))
    }

    /// A process sees what it has written.
    fn look(&mut self) -> io::Result<()> {
        match read_all(&self.fs) {
            Ok(files) if files == self.own => Ok(()),
            Ok(files) => {
                let what = format!(
                    "epoch {} has written {:?} and reads {files:?}",
                    self.epoch, self.own
                );
                self.setting.oracle.violation(what);
                Ok(())
            }
            Err(error) => {
                self.setting.judge(&self.process, self.epoch, &error);
                Err(error)
            }
        }
    }

    fn close(mut self) {
        self.close_file();
        self.fs.close().ok();
    }
}

/// Sets a file's content, if the file is there.
fn set(files: &mut Files, name: &'static str, content: &[u8]) {
    if let Some(bytes) = files.get_mut(name) {
        bytes.clear();
        bytes.extend_from_slice(content);
    }
}
