//! A page and its cloud: what is new here goes there, what is new there comes here.
//!
//! Each device writes segments of its own, numbered from 1, and reads those of the others, each after the segments that its writer had taken.
//! The page's rows say how far that has come (`sync_metadata/position`), and are written behind what they speak of: what was cut off in the
//! middle is done again, and changes nothing.

mod download;
mod fetch;
mod status;
mod upload;

pub use download::Downloaded;
pub use status::{StatusReader, SyncProgress, SyncState, SyncStatus};
pub use upload::Uploaded;

use crate::cloud::Cloud;
use crate::device::DeviceId;
use crate::error::{Error, ErrorKind, Result};
use crate::position::{Last, Position};
use crate::seal::{CloudKey, PLAIN, Seal};
use crate::segment::{Place, Segment, SegmentMax};
use fetch::PieceIndex;
use larder_pages::{MergePolicy, Page, PageId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const POSITION: &[u8] = b"position";
const DEVICE: &[u8] = b"device";

/// What is in the cloud of a page, beside the folders of its devices: a name for each device.
const DEVICES: &str = "devices";

/// A folder of the cloud with the name of the key, the same for all its pages. Without it a wrong key would look like a cloud that was erased, since
/// the folder of a page has another name with each key.
const KEYS: &str = "keys";

/// Syncs a page with a cloud. The page is one whose [`collect`](Page::collect) deletes nothing ([`CollectPolicy::Never`](larder_pages::CollectPolicy::Never)),
/// since a device that was away is merged with by what was synced before. It has no thread and no clock: the host calls, whenever there is a reason or some time has passed.
///
/// ```
/// use larder_leveldb::storage::MemoryFileSystem;
/// use larder_pages::{MergePolicy, Page, PageId, PageOptions, Timestamp};
/// use larder_sync::{CloudKey, DeviceId, FolderCloud, PageSync};
/// use std::{path::Path, sync::Arc};
///
/// let shared = FolderCloud::open(Arc::new(MemoryFileSystem::new()), Path::new("shared"))?;
/// let key = CloudKey::new([7; 32]);
/// let device = |id| {
///     let files = Arc::new(MemoryFileSystem::new());
///     let page = Page::open(files, Path::new("page"), PageOptions::default())?;
///     let cloud = Arc::new(shared.clone());
///     let sync = PageSync::open(page.clone(), PageId::ROOT, cloud, Some(&key), DeviceId([id; 16]))?;
///     Ok::<_, larder_sync::Error>((page, sync))
/// };
/// let (phone, mut phone_sync) = device(1)?;
/// let (laptop, mut laptop_sync) = device(2)?;
///
/// phone.connect()?.put(b"ada/name", b"Ada", Timestamp(1))?;
/// phone_sync.run(&mut MergePolicy::LastOneWins)?;
/// laptop_sync.run(&mut MergePolicy::LastOneWins)?;
/// assert_eq!(phone.heads(), laptop.heads());
/// # Ok::<(), larder_sync::Error>(())
/// ```
#[derive(Debug)]
pub struct PageSync {
    page: Page,
    id: PageId,
    cloud: Arc<dyn Cloud>,
    seal: Seal,
    folder: String,
    key_name: String,
    device: DeviceId,
    /// A name that no device has, for this one if another has the name of this one.
    fresh: DeviceId,
    /// What has been taken: written to the page's rows where no piece waits for its commit.
    position: Position,
    index: Option<PieceIndex>,
    status: StatusReader,
    failures: Failures,
    segment_max: SegmentMax,
}

/// What a round has done.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// What came.
    pub downloaded: Downloaded,
    /// So many merge commits were made.
    pub merged: u64,
    /// Whether there is one head. If not, nothing was uploaded.
    pub is_one: bool,
    /// What went.
    pub uploaded: Uploaded,
}

fn read_row<T>(
    page: &Page,
    name: &[u8],
    read: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<Option<T>> {
    let Some(bytes) = page.sync_metadata(name)? else {
        return Ok(None);
    };
    let damaged = || {
        let name = String::from_utf8_lossy(name);
        let what = format!("the row sync_metadata/{name} of the page does not decode");
        larder_pages::Error::new(larder_pages::ErrorKind::Corruption, what)
    };
    Ok(Some(read(&bytes).ok_or_else(damaged)?))
}

/// Which way what failed has gone.
#[derive(Clone, Copy)]
enum Direction {
    Download,
    Upload,
}

/// How often each has failed since it last ended well: what is put does not end the waiting for what cannot be taken.
#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    download: u32,
    upload: u32,
}

impl PageSync {
    /// A page with an id, in a cloud; sealed with a key, if there is one: all pages of a cloud with the same, or none. `fresh` is a new random name: this device has it from now on, unless
    /// the page has given it one already.
    ///
    /// # Errors
    /// [`Page`](ErrorKind::Page) if the page's rows cannot be read or written. The cloud is not asked.
    pub fn open(
        page: Page,
        id: PageId,
        cloud: Arc<dyn Cloud>,
        key: Option<&CloudKey>,
        fresh: DeviceId,
    ) -> Result<PageSync> {
        let position = read_row(&page, POSITION, Position::decode)?.unwrap_or_default();
        let device = read_row(&page, DEVICE, |bytes| bytes.try_into().ok().map(DeviceId))?;
        Ok(PageSync {
            page,
            id,
            cloud,
            seal: Seal::new(key, id)?,
            folder: Seal::folder(key, id),
            key_name: Seal::key_name(key),
            device: device.unwrap_or(fresh),
            fresh,
            position,
            index: None,
            status: StatusReader::default(),
            failures: Failures::default(),
            segment_max: SegmentMax::default(),
        })
    }

    /// Lets segments have so many bytes and pieces: for tests, in which a commit is to be many segments.
    #[doc(hidden)]
    pub fn set_segment_max(&mut self, body_len: usize, pieces: usize) {
        self.segment_max = SegmentMax { body_len, pieces };
    }

    /// The name that this device has.
    pub fn device(&self) -> DeviceId {
        self.device
    }

    /// The page.
    pub fn page(&self) -> &Page {
        &self.page
    }

    /// Shows how it stands.
    pub fn status(&self) -> StatusReader {
        self.status.clone()
    }

    /// How long to wait before the next round if the last one has failed, or something could not be taken in it: longer after each such, at most five minutes.
    pub fn retry_after(&self) -> Option<Duration> {
        let Failures { download, upload } = self.failures;
        let failures = download.max(upload);
        (failures > 0).then(|| status::wait_after(failures))
    }

    /// Takes what is new, merges, puts what is new. What one other device has written and cannot be taken ([`Downloaded::problem`]) does not stop that.
    ///
    /// # Errors
    /// Those of [`download`](Self::download), of [`Page::merge`] and of [`upload`](Self::upload).
    pub fn run(&mut self, policy: &mut MergePolicy<'_>) -> Result<Round> {
        let downloaded = self.download()?;
        let merged = self.page.merge(policy)?;
        let uploaded = self.upload()?;
        Ok(Round {
            downloaded,
            merged: merged.merged,
            is_one: merged.is_one,
            uploaded,
        })
    }

    /// Forgets what is in the cloud, and that anything was ever synced: the next round takes whatever is there, and uploads everything. For a cloud
    /// that was erased or changed for another one. The device gets the name that [`open`](Self::open) was given.
    ///
    /// # Errors
    /// [`Page`](ErrorKind::Page).
    pub fn start_over(&mut self) -> Result<()> {
        // The position last: what is cut off in the middle is still one of a cloud that was erased, and begun again.
        self.page.forget_synced()?;
        self.take_name(self.fresh)?;
        self.save_position(&Position::default())?;
        self.position = Position::default();
        self.index = None;
        Ok(())
    }

    /// Has another name from now on.
    fn take_name(&mut self, device: DeviceId) -> Result<()> {
        self.page.set_sync_metadata(DEVICE, &device.0)?;
        self.device = device;
        Ok(())
    }

    fn place(&self, device: DeviceId, number: u64) -> Place {
        Place {
            page: self.id,
            device,
            number,
        }
    }

    fn segment(&self, device: DeviceId, number: u64) -> Result<Option<Segment>> {
        let place = self.place(device, number);
        let opened = Segment::open(&*self.cloud, &self.folder, place, &self.seal);
        opened.map_err(|error| match error.kind() {
            ErrorKind::Damaged => self.at_fault(error, device),
            // The cloud says that its pages are sealed with this key: then it is this segment.
            ErrorKind::WrongKey if self.has_key_name() => {
                let error = Error::new(ErrorKind::Damaged, error.to_string());
                self.at_fault(error, device)
            }
            _ => error,
        })
    }

    /// An error of what a device has written.
    fn at_fault(&self, error: Error, device: DeviceId) -> Error {
        match device == self.device {
            true => error,
            false => error.of_device(device),
        }
    }

    fn has_key_name(&self) -> bool {
        let keys = self.cloud.list(KEYS);
        keys.is_ok_and(|keys| keys.contains(&self.key_name))
    }

    fn save_position(&self, position: &Position) -> Result<()> {
        Ok(self.page.set_sync_metadata(POSITION, &position.encode())?)
    }

    /// What this device has taken of others, for the header of a segment.
    fn seen(&self) -> BTreeMap<DeviceId, u64> {
        let others = self
            .position
            .0
            .iter()
            .filter(|(device, _)| **device != self.device);
        others
            .map(|(device, last)| (*device, last.number))
            .collect()
    }

    /// Checks that the cloud's pages are sealed with this key, as far as it says with which they are.
    fn check_key(&self) -> Result<()> {
        let keys = self.cloud.list(KEYS)?;
        if keys.is_empty() || keys.contains(&self.key_name) {
            return Ok(());
        }
        let what = match (self.seal.is_plain(), keys.iter().all(|key| key == PLAIN)) {
            (true, _) => "what is in the cloud is sealed with a key, and none was given",
            (false, true) => "what is in the cloud is not sealed, and a key was given",
            (false, false) => "what is in the cloud is sealed with another key",
        };
        Err(Error::new(ErrorKind::WrongKey, what))
    }

    /// Checks that the cloud still has, unchanged, the last segment of a device that is known.
    fn check_last(&self, device: DeviceId, last: Last) -> Result<()> {
        if last == Last::NONE {
            return Ok(());
        }
        let Some(segment) = self.segment(device, last.number)? else {
            self.check_key()?;
            let what = format!(
                "the cloud had segment {} of device {device}, and has it no more: it was erased or set back",
                last.number
            );
            return Err(Error::new(ErrorKind::Erased, what));
        };
        match segment.last == last {
            true => Ok(()),
            false => {
                let what = format!("{} of the cloud was another segment before", segment.name());
                Err(self.at_fault(Error::new(ErrorKind::Rewritten, what), device))
            }
        }
    }

    /// Notes how one of the two has ended.
    fn ended(&mut self, direction: Direction, state: SyncState) {
        let failures = match direction {
            Direction::Download => &mut self.failures.download,
            Direction::Upload => &mut self.failures.upload,
        };
        *failures = match state {
            SyncState::Error(_) => failures.saturating_add(1),
            _ => 0,
        };
        self.status.change(|status| match direction {
            Direction::Download => status.download = state,
            Direction::Upload => status.upload = state,
        });
    }
}
