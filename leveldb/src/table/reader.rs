//! Opens a table and reads its blocks.
//!
//! An open table holds a file handle and where its index and filter lie, nothing else: index and filter blocks live in the
//! block cache, so memory does not grow with the store. A damaged table's index is rebuilt from its blocks and kept.

use super::directory::{Directory, Spot};
use super::salvage;
use super::{BlockHandle, FOOTER_LEN, Footer, TRAILER_LEN, TableContext};
use crate::block::{BlockCursor, has_true_restarts};
use crate::cache::{Miss, Pinned};
use crate::compression::{Compression, ZSTD, decompress};
use crate::crc;
use crate::damage::{Damage, DamageKind};
use crate::error::{Error, Result};
use crate::filter::{FilterBlock, bloom};
use crate::internal_key::{self, InternalOrder};
use crate::pinned::PinnedBytes;
use crate::storage::{RandomFile, read_exact_at};
use crate::table_file::TableFile;
use crate::varint::fixed32;
use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::atomic::{AtomicBool, Ordering as Memory};
use std::sync::{Arc, OnceLock};
use std::{fmt, io};

/// Why a block cannot be used.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: DamageKind,
    pub(crate) what: String,
    pub(crate) source: Option<io::Error>,
}

impl Fault {
    pub(crate) fn new(kind: DamageKind, what: impl Into<String>) -> Fault {
        Fault {
            kind,
            what: what.into(),
            source: None,
        }
    }

    pub(crate) fn unreadable(error: io::Error) -> Fault {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Fault::new(DamageKind::Truncated, "file ends before the block does");
        }
        Fault {
            kind: DamageKind::Unreadable,
            what: format!("cannot be read: {error}"),
            source: Some(error),
        }
    }

    pub(crate) fn into_error(self, file: &str, offset: Option<u64>) -> Error {
        match self.source {
            Some(source) => Error::io(file, "cannot be read", source),
            None => Error::corruption(file, offset, self.what),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// What was read, or why not, and where in the file.
type Placed<T> = Result<T, (Option<u64>, Fault)>;

/// An open table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) number: u64,
    pub(crate) name: String,
    /// `None` if it could not be opened.
    file: Option<Arc<dyn RandomFile>>,
    /// The length, as far as the MANIFEST and the file agree.
    len: u64,
    /// What the index says is found out at first use.
    layout: OnceLock<Layout>,
    /// Index and filter, once a key has been looked for, as far as there is room: else they are in the block cache.
    pins: OnceLock<Pins>,
    /// Whether its first and last keys were compared with what the MANIFEST says.
    has_checked_bounds: AtomicBool,
}

#[derive(Debug)]
struct Layout {
    index: Index,
    filter: Option<BlockHandle>,
}

/// What a table holds on to.
#[derive(Debug, Default)]
struct Pins {
    index: Option<(Pinned, Option<Directory>)>,
    filter: Option<Pinned>,
}

#[derive(Debug)]
enum Index {
    Stored(BlockHandle),
    /// Rebuilt, in the form of an index block.
    Rebuilt(Arc<Vec<u8>>),
}

/// Blocks that take so many bytes in their file are read without an allocation.
const SMALL_LEN: usize = 64 << 10;

thread_local! {
    /// Takes a block as it is stored, until it is unpacked. What was in it is written over and need not be cleared.
    static STORED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Gives `use_it` room for `len` bytes with anything in them.
fn with_room<T>(len: usize, use_it: impl FnOnce(&mut [u8]) -> T) -> T {
    // A thread that ends has no such room any more.
    let mut room = STORED.try_with(Cell::take).unwrap_or_default();
    if room.len() < len {
        room.resize(len, 0);
    }
    let used = use_it(&mut room[..len]);
    if room.len() <= SMALL_LEN {
        let _ = STORED.try_with(|stored| stored.set(room));
    }
    used
}

thread_local! {
    /// Takes an unpacked block that is used once.
    static UNPACKED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Gives `use_it` a buffer with anything in it.
fn with_unpacked<T>(use_it: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut buffer = UNPACKED.try_with(Cell::take).unwrap_or_default();
    let used = use_it(&mut buffer);
    if buffer.capacity() <= SMALL_LEN {
        let _ = UNPACKED.try_with(|unpacked| unpacked.set(buffer));
    }
    used
}

/// Verifies a block with its trailer: its compression and its bytes as stored.
pub(crate) fn verify(stored: &[u8]) -> Result<(Compression, &[u8]), Fault> {
    let Some((block, trailer)) = stored
        .len()
        .checked_sub(TRAILER_LEN)
        .map(|at| stored.split_at(at))
    else {
        return Err(Fault::new(
            DamageKind::Truncated,
            "block is shorter than its trailer",
        ));
    };
    let sum = crc::unmask(fixed32(trailer, 1).unwrap_or(0));
    if crc::value(&stored[..block.len() + 1]) != sum {
        return Err(Fault::new(
            DamageKind::Checksum,
            "block does not have its checksum",
        ));
    }
    match Compression::from_byte(trailer[0]) {
        Some(compression) => Ok((compression, block)),
        None => {
            let byte = trailer[0];
            let what = match byte == ZSTD && cfg!(not(feature = "zstd")) {
                true => "block is packed with zstd, which this build cannot unpack".to_owned(),
                false => format!("unknown block compression {byte}"),
            };
            Err(Fault::new(DamageKind::Structure, what))
        }
    }
}

fn unpack((compression, block): (Compression, &[u8]), out: &mut Vec<u8>) -> Result<(), Fault> {
    decompress(compression, block, out).map_err(|what| Fault::new(DamageKind::Structure, what))
}

impl Table {
    /// Whether the bounds are still to be compared; says so once.
    #[inline]
    pub(crate) fn take_bounds_check(&self) -> bool {
        !self.has_checked_bounds.load(Memory::Relaxed)
            && !self.has_checked_bounds.swap(true, Memory::Relaxed)
    }

    pub(crate) fn put_bounds_check_back(&self) {
        self.has_checked_bounds.store(false, Memory::Relaxed);
    }

    pub(crate) fn new(number: u64, name: String, file: Arc<dyn RandomFile>, len: u64) -> Table {
        Table {
            number,
            name,
            file: Some(file),
            len,
            layout: OnceLock::new(),
            pins: OnceLock::new(),
            has_checked_bounds: AtomicBool::new(false),
        }
    }

    /// A table without content, in place of one that is missing.
    pub(crate) fn missing(number: u64, name: String) -> Table {
        let layout = Layout {
            index: Index::Rebuilt(salvage::empty_index()),
            filter: None,
        };
        Table {
            number,
            name,
            file: None,
            len: 0,
            layout: OnceLock::from(layout),
            pins: OnceLock::new(),
            has_checked_bounds: AtomicBool::new(false),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Finds out where index and filter are. With [`OnDamage::Skip`](crate::OnDamage::Skip) it succeeds for any file.
    pub(crate) fn prepare(&self, context: &TableContext, meta: &TableFile) -> Result<()> {
        if self.layout.get().is_some() {
            return Ok(());
        }
        let layout = match self.read_layout(context, meta) {
            Ok(layout) => layout,
            Err((offset, fault)) => {
                if context.on_damage.fails_on(fault.source.as_ref()) {
                    return Err(fault.into_error(&self.name, offset));
                }
                let index = salvage::rebuild_index(context, self, meta, offset, fault)?;
                Layout {
                    index: Index::Rebuilt(index),
                    filter: None,
                }
            }
        };
        let _ = self.layout.set(layout);
        Ok(())
    }

    fn read_layout(&self, context: &TableContext, meta: &TableFile) -> Placed<Layout> {
        let footer = self.read_footer()?;
        let index = self
            .read_unpacked(footer.index, None)
            .map_err(|fault| (Some(footer.index.offset), fault))?;
        // In a table in another order nothing is searched.
        let order = (!meta.is_unsorted).then_some(&context.order);
        self.check_index(order, &index, footer.index)
            .map_err(|fault| (Some(footer.index.offset), fault))?;
        context
            .cache
            .insert((self.number, footer.index.offset), index);
        let filter = match self.find_filter(footer.metaindex) {
            Ok(filter) => filter,
            Err((at, fault)) => {
                let what = format!("filter is of no use: {fault}");
                if context.on_damage.fails_on(fault.source.as_ref()) {
                    return Err((Some(at), Fault { what, ..fault }));
                }
                context
                    .damage
                    .report(Damage::new(&*self.name, Some(at), DamageKind::Filter, what));
                None
            }
        };
        Ok(Layout {
            index: Index::Stored(footer.index),
            filter,
        })
    }

    /// The index block, verified, not checked, and where it is.
    pub(super) fn read_index(&self) -> Placed<(Arc<Vec<u8>>, BlockHandle)> {
        let footer = self.read_footer()?;
        let index = self.read_unpacked(footer.index, None);
        let index = index.map_err(|fault| (Some(footer.index.offset), fault))?;
        Ok((index, footer.index))
    }

    fn read_footer(&self) -> Placed<Footer> {
        let truncated = || {
            (
                None,
                Fault::new(DamageKind::Truncated, "table is shorter than its footer"),
            )
        };
        let footer_at = self
            .len
            .checked_sub(FOOTER_LEN as u64)
            .ok_or_else(truncated)?;
        let mut bytes = [0; FOOTER_LEN];
        self.read_exact(footer_at, &mut bytes)
            .map_err(|fault| (Some(footer_at), fault))?;
        let bad_footer = || {
            (
                Some(footer_at),
                Fault::new(DamageKind::Structure, "table has a bad footer"),
            )
        };
        Footer::decode(&bytes).ok_or_else(bad_footer)
    }

    /// Looks at every index entry once, so that later steps may rely on it: keys ascend, if an order is given; handles ascend
    /// and lie before the index.
    pub(super) fn check_index(
        &self,
        order: Option<&InternalOrder>,
        index: &Arc<Vec<u8>>,
        own: BlockHandle,
    ) -> Result<(), Fault> {
        let wrong = |what: &str| Err(Fault::new(DamageKind::Structure, what));
        let structure =
            |fault: crate::block::BlockFault| Fault::new(DamageKind::Structure, fault.what);
        let mut cursor = BlockCursor::default();
        cursor
            .set_block(PinnedBytes::whole(index.clone()))
            .map_err(structure)?;
        cursor.seek_to_first().map_err(structure)?;
        let (mut end, mut last) = (0, Vec::new());
        while cursor.valid() {
            let key = cursor.key();
            if !internal_key::is_valid(key) {
                return wrong("index key is not an internal key");
            }
            if let Some(order) = order
                && !last.is_empty()
                && order.compare(&last, key) != Ordering::Less
            {
                return wrong("index keys do not ascend");
            }
            let Some(handle) = BlockHandle::decode_exact(cursor.value()) else {
                return wrong("index entry is not a block handle");
            };
            match handle.end() {
                Some(block_end) if handle.offset >= end && block_end <= own.offset => {
                    end = block_end
                }
                _ => return wrong("index entry points outside of the data blocks"),
            }
            last.clear();
            last.extend_from_slice(key);
            cursor.next().map_err(structure)?;
        }
        // An index block's seeks rely on its restart points.
        if !has_true_restarts(index) {
            return wrong("restart points are not where entries with whole keys start");
        }
        cursor.seek_to_last().map_err(structure)
    }

    /// The filter's handle, after its checksum was verified.
    fn find_filter(&self, metaindex: BlockHandle) -> Result<Option<BlockHandle>, (u64, Fault)> {
        let at = |offset: u64| move |fault: Fault| (offset, fault);
        let structure = |fault: crate::block::BlockFault| {
            (
                metaindex.offset,
                Fault::new(DamageKind::Structure, fault.what),
            )
        };
        let block = self
            .read_unpacked(metaindex, None)
            .map_err(at(metaindex.offset))?;
        let name = format!("filter.{}", bloom::NAME);
        let mut cursor = BlockCursor::default();
        cursor
            .set_block(PinnedBytes::whole(block))
            .map_err(structure)?;
        cursor
            .seek(|key| key.cmp(name.as_bytes()))
            .map_err(structure)?;
        if !cursor.valid() || cursor.key() != name.as_bytes() {
            return Ok(None);
        }
        // C++ LevelDB also takes a handle with bytes after it.
        let Some((handle, _)) = BlockHandle::decode(cursor.value()) else {
            let fault = Fault::new(
                DamageKind::Structure,
                "metaindex entry is not a block handle",
            );
            return Err((metaindex.offset, fault));
        };
        let filter = self.read_unpacked(handle, None);
        let filter = filter.map_err(at(handle.offset))?;
        if FilterBlock::decode(&filter).is_none() {
            return Err((
                handle.offset,
                Fault::new(DamageKind::Structure, "filter block does not fit together"),
            ));
        }
        Ok(Some(handle))
    }

    /// Reads exactly, within the table's length.
    pub(crate) fn read_exact(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        let Some(file) = &self.file else {
            return Err(Fault::new(DamageKind::Missing, "file is missing"));
        };
        read_exact_at(&**file, offset, buffer).map_err(Fault::unreadable)
    }

    /// Checks that a handle lies in the file: where its trailer ends.
    pub(crate) fn end_of(&self, handle: BlockHandle) -> Result<u64, Fault> {
        match handle.end() {
            Some(end) if end <= self.len => Ok(end),
            _ => Err(Fault::new(
                DamageKind::Truncated,
                "block lies outside of its file",
            )),
        }
    }

    /// Reads, verifies and unpacks a block, into `room` if it has no other user.
    fn read_unpacked(
        &self,
        handle: BlockHandle,
        room: Option<Arc<Vec<u8>>>,
    ) -> Result<Arc<Vec<u8>>, Fault> {
        let mut block = room.unwrap_or_default();
        match Arc::get_mut(&mut block) {
            Some(room) => self.read_into(handle, room)?,
            None => {
                let mut unpacked = Vec::new();
                self.read_into(handle, &mut unpacked)?;
                block = Arc::new(unpacked);
            }
        }
        Ok(block)
    }

    /// Reads, verifies and unpacks a block, in place of what was there.
    fn read_into(&self, handle: BlockHandle, unpacked: &mut Vec<u8>) -> Result<(), Fault> {
        let len = (self.end_of(handle)? - handle.offset) as usize;
        if len <= SMALL_LEN {
            return with_room(len, |stored| {
                self.read_exact(handle.offset, stored)?;
                unpack(verify(stored)?, unpacked)
            });
        }
        let mut stored = vec![0; len];
        self.read_exact(handle.offset, &mut stored)?;
        let (compression, block) = verify(&stored)?;
        if compression != Compression::None {
            return unpack((compression, block), unpacked);
        }
        let len = block.len();
        stored.truncate(len);
        *unpacked = stored;
        Ok(())
    }

    /// A block through the cache. If it has no place there, perhaps in `room`, which is taken then.
    pub(crate) fn cached_block(
        &self,
        context: &TableContext,
        handle: BlockHandle,
        room: &mut Option<Arc<Vec<u8>>>,
    ) -> Result<Arc<Vec<u8>>, Fault> {
        match context.cache.look_up((self.number, handle.offset)) {
            Ok(block) => Ok(block),
            Err(Miss::Keep(room)) => self.read_and_keep(context, handle, room),
            Err(Miss::Pass) => self.read_unpacked(handle, room.take()),
        }
    }

    /// Gives `use_it` a block, which is not used any more when that returns.
    pub(crate) fn with_block<T>(
        &self,
        context: &TableContext,
        handle: BlockHandle,
        use_it: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Fault> {
        let block = match context.cache.look_up((self.number, handle.offset)) {
            Ok(block) => block,
            Err(Miss::Keep(room)) => self.read_and_keep(context, handle, room)?,
            Err(Miss::Pass) => {
                return with_unpacked(|unpacked| {
                    self.read_into(handle, unpacked)?;
                    Ok(use_it(unpacked))
                });
            }
        };
        Ok(use_it(&block))
    }

    fn read_and_keep(
        &self,
        context: &TableContext,
        handle: BlockHandle,
        room: Option<Arc<Vec<u8>>>,
    ) -> Result<Arc<Vec<u8>>, Fault> {
        let block = self.read_unpacked(handle, room)?;
        let id = (self.number, handle.offset);
        context.cache.insert(id, block.clone());
        Ok(block)
    }

    /// Takes index and filter out of the cache into the table's own memory, if there is room: a reader that looks for one key may
    /// look for more.
    #[inline]
    pub(crate) fn pin(&self, context: &TableContext) {
        if self.pins.get().is_none()
            && let Some(layout) = self.layout.get()
        {
            self.pins.get_or_init(|| self.new_pins(context, layout));
        }
    }

    #[cold]
    fn new_pins(&self, context: &TableContext, layout: &Layout) -> Pins {
        let Index::Stored(handle) = layout.index else {
            return Pins::default();
        };
        let take = |handle: BlockHandle| {
            let block = self.cached_block(context, handle, &mut None).ok()?;
            context.cache.remove((self.number, handle.offset));
            Some(block)
        };
        let filter = layout.filter.and_then(take);
        let filter = filter.and_then(|block| context.cache.pin(block, 0));
        let index = take(handle).and_then(|block| {
            let filters = filter.as_ref().map(|filter| filter.block.as_slice());
            let directory = Directory::new(&context.order, &block, filters);
            let beside_len = directory.as_ref().map_or(0, Directory::len_bytes);
            Some((context.cache.pin(block, beside_len)?, directory))
        });
        Pins { index, filter }
    }

    /// The number of the index entry that is sought for an internal key, if the index is unfolded: the first that is not less.
    pub(super) fn place(&self, context: &TableContext, target: &[u8]) -> Option<usize> {
        let (index, directory) = self.pinned_index()?;
        let directory = directory.as_ref()?;
        Some(directory.find(&context.order, &index.block, target))
    }

    /// The block of a [`place`](Self::place); `None` behind the last.
    #[inline]
    pub(super) fn spot(&self, place: usize) -> Option<&Spot> {
        let (_, directory) = self.pinned_index()?;
        directory.as_ref()?.spot(place)
    }

    /// The index block; [`prepare`](Self::prepare) came first.
    pub(crate) fn index(&self, context: &TableContext) -> Placed<Arc<Vec<u8>>> {
        match self.layout.get().map(|layout| &layout.index) {
            None => Ok(salvage::empty_index()),
            Some(Index::Rebuilt(index)) => Ok(index.clone()),
            Some(Index::Stored(handle)) => match self.pinned_index() {
                Some((pinned, _)) => Ok(pinned.block.clone()),
                None => self
                    .cached_block(context, *handle, &mut None)
                    .map_err(|fault| (Some(handle.offset), fault)),
            },
        }
    }

    fn pinned_index(&self) -> Option<&(Pinned, Option<Directory>)> {
        self.pins.get()?.index.as_ref()
    }

    fn pinned_filter(&self) -> Option<&Pinned> {
        self.pins.get()?.filter.as_ref()
    }

    /// Whether a block of the directory may hold a user key.
    #[inline]
    pub(super) fn may_contain_in(
        &self,
        context: &TableContext,
        spot: &Spot,
        key_hash: u32,
    ) -> bool {
        match self.pinned_filter() {
            Some(pinned) => spot.may_contain(&pinned.block, key_hash),
            None => self.may_contain(context, spot.handle().offset, key_hash),
        }
    }

    /// Whether the block at `offset` may hold a user key. Without a usable filter, it may.
    pub(crate) fn may_contain(&self, context: &TableContext, offset: u64, key_hash: u32) -> bool {
        let Some(handle) = self.layout.get().and_then(|layout| layout.filter) else {
            return true;
        };
        let says = |bytes: &[u8]| {
            FilterBlock::decode(bytes).is_none_or(|filter| filter.may_contain(offset, key_hash))
        };
        match self.pinned_filter() {
            Some(pinned) => says(&pinned.block),
            None => self
                .cached_block(context, handle, &mut None)
                .map_or(true, |bytes| says(&bytes)),
        }
    }
}
