//! A host with a loop of its own: a thread that runs steps as long as there are any, and then sleeps until it is called.

use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use larder_idb::{Storage, StorageOptions, WorkCallback};

use super::Verdict;

enum Message {
    Work,
    End,
}

/// The loop. It looks at the storage when it is called, and at no other time.
pub(crate) struct HostLoop {
    sender: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

impl HostLoop {
    /// A storage whose steps a loop runs.
    pub(crate) fn start(mut options: StorageOptions) -> Verdict<(Storage, Self)> {
        let (sender, receiver) = mpsc::channel();
        let on_work = sender.clone();
        options.on_work = Some(WorkCallback::new(move || {
            // After the loop's end there is no receiver, and none is needed.
            let _ = on_work.send(Message::Work);
        }));
        let storage = Storage::new(options).map_err(|error| format!("no storage: {error}"))?;
        let driven = storage.clone();
        let thread = thread::spawn(move || {
            while let Ok(Message::Work) = receiver.recv() {
                driven.run_until_idle();
            }
        });
        let thread = Some(thread);
        Ok((storage, Self { sender, thread }))
    }
}

impl Drop for HostLoop {
    fn drop(&mut self) {
        let _ = self.sender.send(Message::End);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(ended.is_none_or(|ended| ended.is_ok()), "the loop panics");
    }
}
