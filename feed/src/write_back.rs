//! Changes that were made here go back to the source that the database is a copy of.
//!
//! A database that is a copy of something, such as a mailbox on a server, is changed from both sides. What comes from the source is written
//! with [`TransactionOptions::from_source`](larder_idb::TransactionOptions::from_source); everything else is to reach the source.

use std::time::Duration;

use larder_idb::codec::value::RevisionKind;

use crate::consumer::Consumer;
use crate::error::Result;
use crate::read::{Batch, ReadOptions, Reader};
use crate::revision::Revision;

/// What a sink has done with a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The source has it.
    Done,
    /// The source will never take it. It is passed over, and counted.
    Refused,
    /// Not this time, as without a network. It is handed again, and nothing behind it before.
    Failed,
}

/// What has become of a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The source has the revision of this number.
    Done(u64),
    /// The revision of this number is passed over: the sink has refused it, or its value was asked for and is not there any more, since a
    /// program without the feed has overwritten it.
    Skipped(u64),
    /// The sink has failed with the revision of this number, which comes again.
    Failed {
        /// The number.
        revision: u64,
        /// So long to wait before the next try.
        wait: Duration,
    },
}

/// How long to wait after failures: twice as long each time, up to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackOff {
    /// After the first failure.
    pub first: Duration,
    /// At most.
    pub most: Duration,
}

impl Default for BackOff {
    /// From a second to five minutes.
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            most: Duration::from_secs(300),
        }
    }
}

impl BackOff {
    fn after(self, failures: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
        self.first.saturating_mul(doubled).min(self.most)
    }
}

/// Hands the revisions that do not come from the source to a sink: in the order of their numbers, one at a time, none before the one in
/// front of it is done or refused ([`Consumer::write_back`]).
///
/// The consumer's position is what the source has: clean-up keeps everything behind it. It is acknowledged at the end of each transaction,
/// as positions always are. So after a crash the sink gets the revisions of one transaction again that it may have had, and recognises them
/// by their numbers; apart from that each comes once.
///
/// It has no clock and no thread: the host calls, and waits as long as [`Progress::Failed`] says.
///
/// ```
/// # use futures_executor::block_on;
/// # use larder_feed::{Feed, Progress, ReadOptions, Sent};
/// # use larder_idb::{Database, ObjectStoreParameters, Value};
/// # let mail = Database::in_memory("mail", 1, |upgrade| {
/// #     upgrade.transaction.create_object_store("drafts", ObjectStoreParameters::new())?;
/// #     upgrade.transaction.set_change_feed(true)
/// # })?
/// # .wait()?;
/// # let writing = mail.write("drafts")?;
/// # writing.object_store("drafts")?.put(Value::serialize("Dear Emma")?, Some(1.into()))?.detach();
/// # writing.commit()?.wait()?;
/// let feed = Feed::of(mail.connection())?;
/// block_on(async {
///     let consumer = feed.consumer("server").await?;
///     let mut write_back = consumer.write_back(ReadOptions::new().values(true)).await?;
///     let mut sent = Vec::new();
///     // Here it would ask the server.
///     let mut sink = async |revision: &larder_feed::Revision| {
///         sent.push(revision.number());
///         Sent::Done
///     };
///     while let Some(progress) = write_back.next(&mut sink).await? {
///         if let Progress::Failed { wait, .. } = progress {
///             std::thread::sleep(wait);
///         }
///     }
///     assert_eq!(sent, [1]);
///     assert_eq!(consumer.position().await?, 1);
///     Ok::<(), larder_feed::Error>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WriteBack {
    consumer: Consumer,
    reader: Reader,
    batch: Option<Batch>,
    /// So many revisions of the batch are done or passed over.
    sent: usize,
    /// So many failures of the revision that is next.
    failures: u32,
    skipped: u64,
    back_off: BackOff,
}

impl Consumer {
    /// Begins, or goes on, where this consumer's position is. `options` says which revisions are to reach the source, and whether with values;
    /// those that come from the source never are.
    ///
    /// # Errors
    /// Those of [`position`](Self::position).
    pub async fn write_back(&self, options: ReadOptions) -> Result<WriteBack> {
        Ok(WriteBack {
            consumer: self.clone(),
            reader: self.read(options.without_source(true)).await?,
            batch: None,
            sent: 0,
            failures: 0,
            skipped: 0,
            back_off: BackOff::default(),
        })
    }
}

impl WriteBack {
    /// How long to wait after failures.
    #[must_use]
    pub const fn with_back_off(mut self, back_off: BackOff) -> Self {
        self.back_off = back_off;
        self
    }

    /// How many revisions were passed over since it began.
    #[must_use]
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Hands the next revision to the sink; `None` if the source has all there are. The sink is called once, or not at all for a revision
    /// whose value is gone.
    ///
    /// # Errors
    /// [`Error::LeftBehind`](crate::Error::LeftBehind) if clean-up that does not wait has passed it: [`Consumer::restart`] and begin anew;
    /// [`Error::NoConsumer`](crate::Error::NoConsumer) if the consumer was removed; if the database fails. If a position could not be
    /// acknowledged, what came since the last one comes again when it is begun anew.
    pub async fn next(
        &mut self,
        mut sink: impl AsyncFnMut(&Revision) -> Sent,
    ) -> Result<Option<Progress>> {
        loop {
            if let Some(progress) = self.hand(&mut sink).await? {
                return Ok(Some(progress));
            }
            let Some(batch) = self.reader.next().await? else {
                return Ok(None);
            };
            self.take(batch).await?;
        }
    }

    /// Hands the next revision to the sink, and waits for one if the source has all there are.
    ///
    /// # Errors
    /// Those of [`next`](Self::next); `InvalidStateError` once the connection is to be closed.
    pub async fn next_live(
        &mut self,
        mut sink: impl AsyncFnMut(&Revision) -> Sent,
    ) -> Result<Progress> {
        loop {
            if let Some(progress) = self.hand(&mut sink).await? {
                return Ok(progress);
            }
            let batch = self.reader.next_live().await?;
            self.take(batch).await?;
        }
    }

    /// One of which all comes from the source, or is not wanted, is behind it at once.
    async fn take(&mut self, batch: Batch) -> Result<()> {
        if batch.revisions().is_empty() {
            return self.consumer.acknowledge(batch.position()).await;
        }
        self.sent = 0;
        self.batch = Some(batch);
        Ok(())
    }

    /// Hands the next revision of the batch to the sink, if there is one.
    async fn hand(
        &mut self,
        sink: &mut impl AsyncFnMut(&Revision) -> Sent,
    ) -> Result<Option<Progress>> {
        let next = self
            .batch
            .as_ref()
            .and_then(|batch| batch.revisions().get(self.sent));
        let Some(revision) = next else {
            return Ok(None);
        };
        let number = revision.number();
        let is_lost = self.reader.wants_values()
            && revision.kind() != RevisionKind::Removal
            && revision.value().is_none();
        let sent = match is_lost {
            true => Sent::Refused,
            false => sink(revision).await,
        };
        let progress = match sent {
            Sent::Done => Progress::Done(number),
            Sent::Refused => {
                self.skipped += 1;
                Progress::Skipped(number)
            }
            Sent::Failed => {
                self.failures = self.failures.saturating_add(1);
                let wait = self.back_off.after(self.failures);
                return Ok(Some(Progress::Failed {
                    revision: number,
                    wait,
                }));
            }
        };
        let is_end = revision.committed_at_ms().is_some();
        self.failures = 0;
        self.sent += 1;
        let position = self
            .batch
            .take_if(|batch| batch.revisions().len() == self.sent);
        let position = position.map(|batch| batch.position());
        if let Some(position) = position.or(is_end.then_some(number)) {
            self.consumer.acknowledge(position).await?;
        }
        Ok(Some(progress))
    }
}
