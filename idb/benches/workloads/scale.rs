//! How much is measured: `records=N,…`, `bytes=N` and `cache=MIB` among the arguments.

/// Bytes of a record's value.
pub(crate) const SIZES: [usize; 2] = [100, 1024];

const RECORDS: &str = "records=";
const BYTES: &str = "bytes=";
const CACHE: &str = "cache=";

/// How many records, of how many bytes, and the block cache that ours has for them.
#[derive(Debug)]
pub(crate) struct Scale {
    /// Not empty.
    records: Vec<u32>,
    bytes: Option<usize>,
    /// Where it is not the usual one.
    cache_mib: Option<usize>,
}

impl Scale {
    /// Takes it out of arguments, and gives back the others.
    pub(crate) fn take(args: Vec<String>) -> (Self, Vec<String>) {
        let mut scale = Self {
            records: vec![10_000],
            bytes: None,
            cache_mib: None,
        };
        let mut others = Vec::new();
        for arg in args {
            if let Some(records) = arg.strip_prefix(RECORDS) {
                let numbers = records.split(',').map(|number| number.parse().unwrap());
                scale.records = numbers.collect();
            } else if let Some(bytes) = arg.strip_prefix(BYTES) {
                let bytes = bytes.parse().unwrap();
                assert!(SIZES.contains(&bytes), "{BYTES} is one of {SIZES:?}");
                scale.bytes = Some(bytes);
            } else if let Some(mib) = arg.strip_prefix(CACHE) {
                scale.cache_mib = Some(mib.parse().unwrap());
            } else {
                others.push(arg);
            }
        }
        (scale, others)
    }

    /// Arguments of a process with the same.
    pub(crate) fn to_args(&self) -> Vec<String> {
        let numbers: Vec<String> = self.records.iter().map(u32::to_string).collect();
        let records = format!("{RECORDS}{}", numbers.join(","));
        let bytes = self.bytes.map(|bytes| format!("{BYTES}{bytes}"));
        let cache = self.cache_mib.map(|mib| format!("{CACHE}{mib}"));
        (std::iter::once(records).chain(bytes).chain(cache)).collect()
    }

    /// With another number of records, of one size.
    pub(crate) fn of(&self, records: u32, bytes: usize) -> Self {
        Self {
            records: vec![records],
            bytes: Some(bytes),
            cache_mib: self.cache_mib,
        }
    }

    /// Bytes of the block cache, where it is not the usual one.
    pub(crate) fn cache_bytes(&self) -> Option<usize> {
        self.cache_mib.map(|mib| mib << 20)
    }

    /// All numbers of records.
    pub(crate) fn all(&self) -> &[u32] {
        &self.records
    }

    /// The number of records, where there is one.
    pub(crate) fn one(&self) -> u32 {
        self.records[0]
    }

    /// Bytes of values that are measured, each with its place in [`SIZES`].
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (usize, usize)> {
        let all = SIZES.into_iter().enumerate();
        all.filter(|(_, size)| self.bytes.is_none_or(|bytes| bytes == *size))
    }
}
