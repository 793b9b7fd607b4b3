//! Where a file or directory is: paths as the catalogue's keys have them.

use crate::error::{Error, ErrorKind, Result};
use std::path::{Component, Path};

/// How many bytes a path may have.
pub(crate) const PATH_LEN_MAX: usize = 2000;

/// The path of a directory and a name in it. Ordered as the catalogue's keys are: directory by directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    dir: Vec<u8>,
    name: Vec<u8>,
}

impl Place {
    /// The place that a path names; `None` is the root. `/a`, `a` and `./a` are one.
    pub(crate) fn of(path: &Path) -> Result<Option<Place>> {
        let mut names = Vec::new();
        for component in path.components() {
            match component {
                Component::RootDir | Component::CurDir => {}
                Component::Normal(name) => names.push(name.to_str().ok_or_else(|| unusable(path))?),
                Component::ParentDir | Component::Prefix(_) => return Err(unusable(path)),
            }
        }
        let len_bytes: usize = names.iter().map(|name| name.len() + 1).sum();
        if len_bytes > PATH_LEN_MAX || names.iter().any(|name| name.contains('\0')) {
            return Err(unusable(path));
        }
        Ok(names.pop().map(|name| Place {
            dir: names.join("/").into_bytes(),
            name: name.as_bytes().to_vec(),
        }))
    }

    /// The place in the part of a key that is its own: directory, zero, name.
    pub(crate) fn of_key(bytes: &[u8]) -> Option<Place> {
        let at = bytes.iter().position(|&byte| byte == 0)?;
        let (dir, name) = (&bytes[..at], &bytes[at + 1..]);
        let is_name = |name: &[u8]| {
            !name.is_empty() && std::str::from_utf8(name).is_ok() && !name.contains(&0)
        };
        let is_good = is_name(name) && !name.contains(&b'/') && (dir.is_empty() || is_name(dir));
        is_good.then(|| Place {
            dir: dir.to_vec(),
            name: name.to_vec(),
        })
    }

    /// The first place that a directory can have in it.
    pub(crate) fn first_in(dir: &[u8]) -> Place {
        Place {
            dir: dir.to_vec(),
            name: Vec::new(),
        }
    }

    /// The path of the directory; empty: the root.
    pub(crate) fn dir(&self) -> &[u8] {
        &self.dir
    }

    pub(crate) fn name(&self) -> &[u8] {
        &self.name
    }

    /// The place of the directory; `None`: the root.
    pub(crate) fn parent(&self) -> Option<Place> {
        if self.dir.is_empty() {
            return None;
        }
        let (dir, name) = match self.dir.iter().rposition(|&byte| byte == b'/') {
            Some(at) => (&self.dir[..at], &self.dir[at + 1..]),
            None => (&[][..], &self.dir[..]),
        };
        Some(Place {
            dir: dir.to_vec(),
            name: name.to_vec(),
        })
    }

    /// The whole path, which is the `dir` of what lies in it.
    pub(crate) fn path(&self) -> Vec<u8> {
        match self.dir.is_empty() {
            true => self.name.clone(),
            false => [&self.dir[..], b"/", &self.name].concat(),
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.path()))
    }
}

fn unusable(path: &Path) -> Error {
    let what = format!(
        "{}: a path here is of UTF-8 names, without \"..\", and of {PATH_LEN_MAX} bytes at most",
        path.display()
    );
    Error::new(ErrorKind::Usage, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> Place {
        Place::of(Path::new(path)).unwrap().unwrap()
    }

    #[test]
    fn a_path_has_one_place_however_it_is_written() {
        assert_eq!(place("/a/b"), place("a//./b/"));
        assert_eq!(Place::of(Path::new("/")).unwrap(), None);
        assert_eq!(Place::of(Path::new("")).unwrap(), None);
        for path in ["a/../b", "a\0b", &"x/".repeat(3000)] {
            assert_eq!(
                Place::of(Path::new(path)).unwrap_err().kind(),
                ErrorKind::Usage
            );
        }
    }

    #[test]
    fn a_parent_has_its_children() {
        let child = place("a/b/c");
        let parent = child.parent().unwrap();
        assert_eq!(
            (parent.clone(), parent.path()),
            (place("a/b"), child.dir().to_vec())
        );
        assert_eq!(place("a").parent(), None);
        assert_eq!(child.to_string(), "a/b/c");
    }

    #[test]
    fn a_key_that_is_no_path_is_no_place() {
        for bytes in [&b"a"[..], b"a\0", b"\0a/b", b"a\0b\0", b"\xff\0b", b""] {
            assert_eq!(Place::of_key(bytes), None, "{bytes:?}");
        }
    }
}
