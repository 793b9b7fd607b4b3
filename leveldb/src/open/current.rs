//! Which MANIFEST a store is read by.

use super::{Names, Opening};
use crate::damage::{Damage, DamageKind};
use crate::error::{Error, ErrorKind, Result};
use crate::file_name::FileName;
use crate::manifest::Manifest;
use crate::on_damage::OnDamage;
use crate::storage::read_small_file;
use std::io;
use std::path::Path;

impl Opening<'_> {
    /// The MANIFEST that CURRENT names; or, if that cannot be used and damage is skipped, the newest complete one, or the
    /// newest that says anything, or an empty one.
    pub(super) fn manifest(&self, names: &Names) -> Result<Option<Manifest>> {
        let error = match self.manifest_of_current() {
            Ok(Some(manifest)) if manifest.is_complete() || names.manifests.len() < 2 => {
                return Ok(Some(manifest));
            }
            Ok(Some(_)) => Error::corruption(
                "CURRENT",
                None,
                "the MANIFEST that it names is not complete",
            ),
            Ok(None) => return Ok(None),
            Err(error) => error,
        };
        let fails = |error: &Error| self.core.on_damage.fails_on(error.io_cause());
        if fails(&error) || error.kind() == ErrorKind::Usage {
            return Err(error);
        }
        let mut fallback = None;
        for &number in names.manifests.iter().rev() {
            let name = FileName::Manifest(number).to_string();
            let path = self.core.dir.join(&name);
            let file = self.core.fs.open_random(&path);
            let file = file.map_err(|error| Error::io(&*name, "cannot be opened", error));
            let read = file.and_then(|file| Manifest::read(name, file, OnDamage::Skip));
            let manifest = match read {
                Ok(manifest) => manifest,
                Err(error) if fails(&error) => return Err(error),
                Err(_) => continue,
            };
            if manifest.is_complete() {
                fallback = Some(manifest);
                break;
            }
            if manifest.edits > 0 && fallback.is_none() {
                fallback = Some(manifest);
            }
        }
        let manifest = fallback.unwrap_or_default();
        let kind = if error.file().is_some() {
            DamageKind::Structure
        } else {
            DamageKind::Missing
        };
        let instead = if manifest.name.is_empty() {
            "no MANIFEST is readable"
        } else {
            &manifest.name
        };
        let what = match error.file() {
            Some(file) if file != Path::new("CURRENT") => error.to_string(),
            _ => match std::error::Error::source(&error) {
                Some(source) => format!("{}: {source}", error.context()),
                None => error.context().to_owned(),
            },
        };
        let what = format!("{what}; used instead: {instead}");
        self.core
            .damage
            .report(Damage::new("CURRENT", None, kind, what));
        Ok(Some(manifest))
    }

    fn manifest_of_current(&self) -> Result<Option<Manifest>> {
        let current = read_small_file(&*self.core.fs, &self.core.dir.join("CURRENT"), 4096);
        let bytes = current.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::corruption("CURRENT", None, "file is missing"),
            io::ErrorKind::InvalidData => Error::corruption("CURRENT", None, error.to_string()),
            _ => Error::io("CURRENT", "cannot be read", error),
        })?;
        let line = bytes
            .strip_suffix(b"\n")
            .and_then(|line| std::str::from_utf8(line).ok());
        let name = line
            .filter(|line| matches!(FileName::parse(line.as_ref()), Some(FileName::Manifest(_))));
        let Some(name) = name else {
            return Err(Error::corruption(
                "CURRENT",
                Some(0),
                "does not name a MANIFEST",
            ));
        };
        match self.core.fs.open_random(&self.core.dir.join(name)) {
            Ok(file) => Manifest::read(name.to_owned(), file, self.core.on_damage).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.is_last_attempt => {
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Error::corruption(
                "CURRENT",
                Some(0),
                format!("names {name}, which is missing"),
            )),
            Err(error) => Err(Error::io(name, "cannot be opened", error)),
        }
    }
}
