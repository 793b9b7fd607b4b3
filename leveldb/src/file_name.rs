//! The names of a store's files.
//!
//! `CURRENT`, `LOCK`, `LOG`, `LOG.old`, `MANIFEST-NNNNNN`, `NNNNNN.log`, `NNNNNN.ldb` (tables; `.sst` before 2013) and
//! `NNNNNN.dbtmp`. Numbers are written with at least six digits. LevelDB's `db/filename.cc`.

use std::ffi::OsStr;

/// A file of a store, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileName {
    /// `CURRENT`: one line with the name of the live MANIFEST.
    Current,
    /// `LOCK`: held by the process that has the store open.
    Lock,
    /// `LOG` and `LOG.old`: text for people; not read.
    InfoLog,
    /// `MANIFEST-NNNNNN`: a log of version edits.
    Manifest(u64),
    /// `NNNNNN.log`: a log of write batches.
    Log(u64),
    /// `NNNNNN.ldb`: a table.
    Table(u64),
    /// `NNNNNN.sst`: a table under its old name.
    OldTable(u64),
    /// `NNNNNN.dbtmp`: a half-made CURRENT.
    Temp(u64),
}

impl FileName {
    /// What a name means; `None` for names that are none of a store's.
    ///
    /// ```
    /// use larder_leveldb::file_name::FileName;
    /// assert_eq!(FileName::parse("000012.ldb".as_ref()), Some(FileName::Table(12)));
    /// assert_eq!(FileName::parse("12.txt".as_ref()), None);
    /// assert_eq!(FileName::Manifest(1).to_string(), "MANIFEST-000001");
    /// ```
    pub fn parse(name: &OsStr) -> Option<FileName> {
        let name = name.to_str()?;
        match name {
            "CURRENT" => return Some(FileName::Current),
            "LOCK" => return Some(FileName::Lock),
            "LOG" | "LOG.old" => return Some(FileName::InfoLog),
            _ => {}
        }
        if let Some(digits) = name.strip_prefix("MANIFEST-") {
            return number(digits).map(FileName::Manifest);
        }
        let (digits, suffix) = name.split_once('.')?;
        let number = number(digits)?;
        match suffix {
            "log" => Some(FileName::Log(number)),
            "ldb" => Some(FileName::Table(number)),
            "sst" => Some(FileName::OldTable(number)),
            "dbtmp" => Some(FileName::Temp(number)),
            _ => None,
        }
    }
}

fn number(digits: &str) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        None
    } else {
        digits.parse().ok()
    }
}

impl std::fmt::Display for FileName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FileName::Current => f.write_str("CURRENT"),
            FileName::Lock => f.write_str("LOCK"),
            FileName::InfoLog => f.write_str("LOG"),
            FileName::Manifest(n) => write!(f, "MANIFEST-{n:06}"),
            FileName::Log(n) => write!(f, "{n:06}.log"),
            FileName::Table(n) => write!(f, "{n:06}.ldb"),
            FileName::OldTable(n) => write!(f, "{n:06}.sst"),
            FileName::Temp(n) => write!(f, "{n:06}.dbtmp"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        use FileName::*;
        for name in [
            Current,
            Lock,
            InfoLog,
            Manifest(1),
            Log(7),
            Table(123_456),
            OldTable(1_234_567),
            Temp(0),
        ] {
            assert_eq!(FileName::parse(name.to_string().as_ref()), Some(name));
        }
    }

    #[test]
    fn names_that_leveldb_refuses_are_refused() {
        let bad = [
            "",
            "foo",
            "foo-dx-100.log",
            ".log",
            "manifest",
            "CURREN",
            "CURRENTX",
            "MANIFES",
            "MANIFEST",
            "MANIFEST-",
            "XMANIFEST-3",
            "MANIFEST-3x",
            "LOC",
            "LOCKx",
            "LO",
            "LOGx",
            "18446744073709551616.log",
            "184467440737095516150.log",
            "100",
            "100.",
            "100.lop",
            "+1.log",
        ];
        for name in bad {
            assert_eq!(FileName::parse(name.as_ref()), None, "{name}");
        }
        assert_eq!(
            FileName::parse("18446744073709551615.log".as_ref()),
            Some(FileName::Log(u64::MAX))
        );
    }
}
