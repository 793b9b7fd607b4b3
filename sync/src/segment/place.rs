//! Where the parts of a segment belong.

use crate::device::DeviceId;
use larder_pages::PageId;

/// A segment: of a page, by a device, with a number from 1 up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) page: PageId,
    pub(crate) device: DeviceId,
    pub(crate) number: u64,
}

/// Which part of a segment something is.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Header,
    Piece(u32),
    Padding,
}

impl Place {
    /// What a part is sealed with, so that it opens nowhere else.
    pub(super) fn of_part(&self, part: Part) -> Vec<u8> {
        let index = match part {
            Part::Header => u32::MAX,
            Part::Padding => u32::MAX - 1,
            Part::Piece(index) => index,
        };
        let parts: [&[u8]; 5] = [
            b"larder-sync segment 1 ",
            &self.page.0,
            &self.device.0,
            &self.number.to_le_bytes(),
            &index.to_le_bytes(),
        ];
        parts.concat()
    }

    /// The segment's name in the folder of the page.
    pub(crate) fn name(&self) -> String {
        format!("{}/{:016x}", self.device, self.number)
    }
}
