//! From the cloud to the page.

use super::{DEVICES, PageSync, SyncState};
use crate::device::DeviceId;
use crate::error::{Error, ErrorKind, Result};
use crate::position::Position;
use crate::segment::Segment;
use larder_pages::{ChangeSource, Incoming, ObjectIdentifier};
use std::collections::BTreeSet;

/// What came from the cloud.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
}

/// A download under way.
struct Run {
    incoming: Incoming,
    /// Pieces that the cloud has, and this device had already.
    known: Vec<ObjectIdentifier>,
    done: Downloaded,
    /// The first error of a device whose segments cannot be taken. The others' are.
    problem: Option<Error>,
}

impl PageSync {
    /// Takes what is new in the cloud: all segments whose writers' knowledge is here. Nothing is merged.
    ///
    /// A segment that is damaged is not taken, nor is what its device wrote behind it; what the others wrote is, and then the error comes.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable), [`Erased`](ErrorKind::Erased), [`Rewritten`](ErrorKind::Rewritten),
    /// [`Damaged`](ErrorKind::Damaged), [`WrongKey`](ErrorKind::WrongKey), [`Page`](ErrorKind::Page). What was taken by then stays.
    pub fn download(&mut self) -> Result<Downloaded> {
        self.status
            .change(|status| status.download = SyncState::InProgress);
        let done = self.download_all();
        let state = match &done {
            Ok(done) if done.is_waiting => SyncState::Pending,
            _ => SyncState::Idle,
        };
        self.ended(done, |status, state| status.download = state, state)
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
        self.check_known()?;
        let mut devices = self.devices()?;
        let mut run = Run {
            incoming: self.page.incoming(),
            known: Vec::new(),
            done: Downloaded::default(),
            problem: None,
        };
        let mut position = self.position.clone();
        loop {
            let before = run.done.segments;
            run.done.is_waiting = false;
            devices.retain(
                |device| match self.take_device(*device, &mut position, &mut run) {
                    Ok(()) => true,
                    Err(error) => {
                        run.problem.get_or_insert(error);
                        false
                    }
                },
            );
            let is_unreachable =
                (run.problem.as_ref()).is_some_and(|error| error.kind() == ErrorKind::Unavailable);
            if run.done.segments == before || is_unreachable {
                break;
            }
        }
        // Pieces without their commit, at the end of what a device has written: they come again.
        match run.problem {
            Some(problem) => Err(problem),
            None => Ok(run.done),
        }
    }

    /// Takes the segments of a device that can be taken.
    fn take_device(
        &mut self,
        device: DeviceId,
        position: &mut Position,
        run: &mut Run,
    ) -> Result<()> {
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
                return Err(Error::new(ErrorKind::Rewritten, what));
            }
            let is_here =
                |(device, number): (&DeviceId, &u64)| position.of(*device).number >= *number;
            let mut seen = segment.header.seen.iter();
            if !seen.all(|(of, number)| *of == device || is_here((of, number))) {
                run.done.is_waiting = true;
                return Ok(());
            }
            self.take_segment(&segment, run)?;
            position.0.insert(device, segment.last);
            run.done.segments += 1;
            if device == self.device || !segment.header.commits.is_empty() {
                // All pieces that came of the device are in commits now, or were here: a segment of this one that is not noted yet. What others
                // have begun is read again if this process ends.
                self.position.0.insert(device, segment.last);
                self.save_position(&self.position)?;
            }
        }
    }

    fn take_segment(&mut self, segment: &Segment, run: &mut Run) -> Result<()> {
        let mut wanted = Vec::new();
        for (index, piece) in segment.header.pieces.iter().enumerate() {
            if run.incoming.has_piece(&piece.id)? {
                run.known.push(piece.id);
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
        self.add_pieces(segment, &pieces, &mut run.incoming)?;
        let bytes: u64 = contents.iter().map(|content| content.len() as u64).sum();
        let commits: Vec<&[u8]> = segment.header.commits.iter().map(Vec::as_slice).collect();
        let mut added = 0;
        if !commits.is_empty() {
            let commits = run.incoming.add_commits(&commits, ChangeSource::Cloud);
            added = commits.map_err(|error| of_cloud(segment, error))?.len() as u64;
        }
        if !commits.is_empty() || segment.header.place.device == self.device {
            self.page.mark_synced(&run.known, &[])?;
            run.known.clear();
        }
        run.done.pieces += pieces.len() as u64;
        run.done.commits += added;
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
                self.fetch_pieces(&needed, incoming)?;
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
