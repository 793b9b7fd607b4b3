//! What a host hears when something that was stored is damaged or lost.

use std::fmt;
use std::sync::Arc;

use larder_backing_store::{RowPlace, TornTail};
use larder_codec::Origin as OriginName;

use crate::bucket_id::BucketId;
use crate::error::Error;

/// Something that an origin had stored is damaged, or was lost.
///
/// [`Display`](fmt::Display) gives sentences for the people that use the host; [`what`](Self::what) has the details for a log.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Loss {
    /// The origin that it belongs to.
    pub origin: OriginName,
    /// The bucket, unless it is the origin's default one in its own site.
    pub bucket: Option<BucketId>,
    /// What has happened.
    pub what: LossKind,
    /// The database, object store, index and key, as far as they are known.
    pub place: Option<RowPlace>,
}

/// What has happened to what was stored.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum LossKind {
    /// A crash, mostly a power cut, has taken the end of a file. No transaction that was acknowledged as durable is lost by that, but
    /// others committed shortly before may be. What was not read is set aside, and the tail says where.
    TornTail(TornTail),
    /// The store is damaged and cannot be opened. [`Factory::repair`](crate::Factory::repair) brings back what is whole.
    Unopenable(Error),
    /// Something in the store cannot be read, and the request that asked for it has failed. Everything else can be read.
    Unreadable(Error),
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = &self.origin;
        match &self.what {
            LossKind::TornTail(_) => write!(
                f,
                "The computer or the program was stopped while data of {origin} was being stored. What was stored last may \
                 be missing."
            ),
            LossKind::Unopenable(_) => write!(
                f,
                "The data of {origin} is damaged and cannot be opened. It can be repaired: nothing is deleted by that, and what \
                 cannot be read is set aside."
            ),
            LossKind::Unreadable(_) => {
                write!(
                    f,
                    "A part of the data of {origin} is damaged and cannot be read"
                )?;
                if let Some(RowPlace { place, row, .. }) = &self.place {
                    write!(f, ": {place}, {row}")?;
                }
                f.write_str(".")
            }
        }
    }
}

type OnLoss = dyn Fn(&Loss) + Send + Sync;

/// Called when something that an origin had stored turns out to be damaged or lost: when its store is opened, and when it is read.
///
/// Each loss is reported once as long as its store is open, and at most 1,000 of one opening; the requests fail in any case. It is
/// called as requests' callbacks are ([`Request::on_done`](crate::Request::on_done)), never while a lock is held, and may use the
/// storage.
#[derive(Clone)]
pub struct LossCallback(Arc<OnLoss>);

impl LossCallback {
    /// Calls this function for each loss.
    pub fn new(callback: impl Fn(&Loss) + Send + Sync + 'static) -> Self {
        Self(Arc::new(callback))
    }

    pub(crate) fn call(&self, loss: &Loss) {
        (self.0)(loss);
    }
}

impl fmt::Debug for LossCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LossCallback")
    }
}
