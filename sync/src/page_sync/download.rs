//! From the cloud to the page.

use super::{DEVICES, Direction, PageSync, SyncState};
use crate::device::DeviceId;
use crate::error::{Error, ErrorKind, Result};
use crate::position::Position;
use crate::segment::Segment;
use larder_pages::{ChangeSource, Incoming, ObjectIdentifier};
use std::collections::BTreeSet;

/// What came from the cloud.
#[derive(Clone, Debug, Default)]
pub struct Downloaded {
    /// Segments that were taken.
    pub segments: u64,
    /// Commits that are new here.
    pub commits: u64,
    /// Pieces that are new here.
    pub pieces: u64,
    /// Whether the cloud has segments that cannot be taken yet, since others that they need are not there: a folder that is synced by something else
    /// brings them later.
    pub is_waiting: bool,
    /// Why segments of one device, the first of such, cannot be taken: it has written something else than a device writes, or it was damaged since. [`Error::device`]
    /// names it. What the others have written was taken.
    pub problem: Option<Error>,
}

impl Downloaded {
    /// Takes down what is wrong with the segments of one other device. Any other error is one of the download.
    fn note(&mut self, error: Error) -> Result<()> {
        if error.device().is_none() {
            return Err(error);
        }
        self.problem.get_or_insert(error);
        Ok(())
    }
}

/// What is being taken of one device.
#[derive(Debug)]
pub(super) struct Taking {
    device: DeviceId,
    incoming: Incoming,
    /// Pieces that it has put there without their commit yet, and that this device had already.
    known: Vec<ObjectIdentifier>,
    /// Whether something came that was not here.
    has_new: bool,
}

impl PageSync {
    /// Takes what is new in the cloud: all segments whose writers' knowledge is here. Nothing is merged.
    ///
    /// A segment of another device that is damaged or was rewritten is not taken, nor is what its device wrote behind it; what the others wrote is
    /// ([`Downloaded::problem`]). An empty page takes on the fan-out of what it meets.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable), [`Erased`](ErrorKind::Erased), [`Rewritten`](ErrorKind::Rewritten) or
    /// [`Damaged`](ErrorKind::Damaged) if it is what this device has put, [`Fanout`](ErrorKind::Fanout), [`WrongKey`](ErrorKind::WrongKey), [`Page`](ErrorKind::Page). What was taken by then stays.
    pub fn download(&mut self) -> Result<Downloaded> {
        self.status
            .change(|status| status.download = SyncState::InProgress);
        let done = self.download_all();
        let state = match &done {
            Err(error) => SyncState::Error(error.clone()),
            Ok(done) => match &done.problem {
                Some(error) => SyncState::Error(error.clone()),
                None if done.is_waiting => SyncState::Pending,
                None => SyncState::Idle,
            },
        };
        self.ended(Direction::Download, state);
        done
    }

    /// The devices that the cloud has segments of.
    pub(super) fn devices(&self) -> Result<BTreeSet<DeviceId>> {
        let devices = self.cloud.list(&format!("{}/{DEVICES}", self.folder))?;
        let devices = devices.iter().filter_map(|name| DeviceId::parse(name));
        Ok(devices.collect())
    }

    /// Whether the cloud has segments that have not been taken. Nothing but their names is looked at.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable).
    pub fn has_news(&self) -> Result<bool> {
        for device in self.devices()? {
            let next = self.place(device, self.position.of(device).number + 1);
            let name = format!("{}/{}", self.folder, next.name());
            if self.cloud.read(&name, 0..1)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn download_all(&mut self) -> Result<Downloaded> {
        if self.position.0.is_empty() {
            self.check_key()?;
        }
        let mut done = Downloaded::default();
        let mut devices = self.devices()?;
        for (device, last) in &self.position.0 {
            if let Err(error) = self.check_last(*device, *last) {
                done.note(error)?;
                devices.remove(device);
            }
        }
        let mut taking: Vec<Taking> = devices.into_iter().map(|one| self.taking(one)).collect();
        // Pieces without their commit, at the end of what a device has written, are not in the position that is noted: they come again.
        let mut position = self.position.clone();
        loop {
            let before = done.segments;
            done.is_waiting = false;
            for mut one in std::mem::take(&mut taking) {
                match self.take_device(&mut one, &mut position, &mut done) {
                    Ok(()) => taking.push(one),
                    Err(error) => done.note(error)?,
                }
            }
            if done.segments == before {
                return Ok(done);
            }
        }
    }

    fn taking(&self, device: DeviceId) -> Taking {
        Taking {
            device,
            incoming: self.page.incoming(),
            known: Vec::new(),
            has_new: false,
        }
    }

    /// Takes what this device has put into the cloud and not noted: a put whose end it has not seen.
    pub(super) fn take_own(&mut self) -> Result<()> {
        let mut taking = self.taking(self.device);
        let mut position = self.position.clone();
        self.take_device(&mut taking, &mut position, &mut Downloaded::default())
    }

    /// Takes the segments of a device that can be taken.
    fn take_device(
        &mut self,
        taking: &mut Taking,
        position: &mut Position,
        done: &mut Downloaded,
    ) -> Result<()> {
        let device = taking.device;
        loop {
            let last = position.of(device);
            let Some(segment) = self.segment(device, last.number + 1)? else {
                return Ok(());
            };
            if segment.header.previous != last.hash {
                let what = format!(
                    "{} of the cloud does not follow the segment before it, which was rewritten",
                    segment.name()
                );
                return Err(self.at_fault(Error::new(ErrorKind::Rewritten, what), device));
            }
            let is_here =
                |(device, number): (&DeviceId, &u64)| position.of(*device).number >= *number;
            let mut seen = segment.header.seen.iter();
            if !seen.all(|(of, number)| *of == device || is_here((of, number))) {
                done.is_waiting = true;
                return Ok(());
            }
            self.adopt_fanout(&segment)?;
            let taken = self.take_segment(&segment, taking, done);
            taken.map_err(|error| match error.kind() {
                ErrorKind::Damaged => self.at_fault(error, device),
                _ => error,
            })?;
            position.0.insert(device, segment.last);
            done.segments += 1;
            if device == self.device && taking.has_new && self.device != self.fresh {
                // The page is a copy of another device's, or an old one, and what it puts next must not be beside what is there. Before the
                // position, which would say that this was written here.
                self.take_name(self.fresh)?;
            }
            if device == self.device || !segment.header.commits.is_empty() {
                // All pieces that came of the device are in commits now, or were here: a segment of this one that is not noted yet. What others
                // have begun is read again if this process ends.
                self.position.0.insert(device, segment.last);
                self.save_position(&self.position)?;
            }
        }
    }

    fn adopt_fanout(&self, segment: &Segment) -> Result<()> {
        let adopted = self.page.adopt_fanout(segment.header.fanout);
        adopted.map_err(|error| match error.kind() {
            larder_pages::ErrorKind::Usage => {
                let what = format!("{} of the cloud: {error}", segment.name());
                Error::new(ErrorKind::Fanout, what)
            }
            _ => error.into(),
        })
    }

    fn take_segment(
        &mut self,
        segment: &Segment,
        taking: &mut Taking,
        done: &mut Downloaded,
    ) -> Result<()> {
        let mut wanted = Vec::new();
        for (index, piece) in segment.header.pieces.iter().enumerate() {
            if taking.incoming.has_piece(&piece.id)? {
                taking.known.push(piece.id);
            } else if !piece.is_lazy {
                wanted.push(index);
            }
        }
        let contents = segment.contents(&*self.cloud, &self.seal, &wanted)?;
        let ids = wanted
            .iter()
            .filter_map(|index| segment.header.pieces.get(*index));
        let pieces: Vec<(ObjectIdentifier, &[u8])> = ids
            .zip(&contents)
            .map(|(piece, content)| (piece.id, &content[..]))
            .collect();
        self.add_pieces(segment, &pieces, &mut taking.incoming)?;
        let bytes: u64 = contents.iter().map(|content| content.len() as u64).sum();
        let commits: Vec<&[u8]> = segment.header.commits.iter().map(Vec::as_slice).collect();
        let mut added = 0;
        if !commits.is_empty() {
            let commits = taking.incoming.add_commits(&commits, ChangeSource::Cloud);
            added = commits.map_err(|error| of_cloud(segment, error))?.len() as u64;
        }
        if !commits.is_empty() || taking.device == self.device {
            self.page.mark_synced(&taking.known, &[])?;
            taking.known.clear();
        }
        taking.has_new |= !pieces.is_empty() || added > 0;
        done.pieces += pieces.len() as u64;
        done.commits += added;
        self.status.change(|status| {
            status.progress.pieces_in += pieces.len() as u64;
            status.progress.bytes_in += bytes;
            status.progress.commits_in += added;
        });
        Ok(())
    }

    fn add_pieces(
        &mut self,
        segment: &Segment,
        pieces: &[(ObjectIdentifier, &[u8])],
        incoming: &mut Incoming,
    ) -> Result<()> {
        match incoming.add_pieces(pieces) {
            Err(error) if error.kind() == larder_pages::ErrorKind::Usage => {}
            added => return added.map_err(|error| of_cloud(segment, error)),
        }
        // Something that is needed came as a lazy value before, or not at all.
        for (id, content) in pieces {
            let missing = incoming.missing_for(id, content);
            for needed in missing.map_err(|error| of_cloud(segment, error))? {
                let fetched = self.fetch_pieces(&needed, incoming);
                fetched.map_err(|error| match error.page_error() {
                    // It is not there: then the segment says what is not so.
                    Some(of_page) => of_cloud(segment, of_page.clone()),
                    None => error,
                })?;
            }
            let added = incoming.add_pieces(&[(*id, content)]);
            added.map_err(|error| of_cloud(segment, error))?;
        }
        Ok(())
    }
}

/// An error of the page that comes of what the cloud has.
fn of_cloud(segment: &Segment, error: larder_pages::Error) -> Error {
    use larder_pages::ErrorKind as Kind;
    match error.kind() {
        Kind::Corruption | Kind::Usage | Kind::NeedsFetch => Error::damaged(segment.name(), error),
        _ => error.into(),
    }
}
