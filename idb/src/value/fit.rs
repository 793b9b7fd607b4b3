//! Puts a value into the versions of the store that it is for, if it can be read again.
//!
//! A browser deletes a store whose data version is greater than its own, and reads a value of greater versions as null. So a
//! value is said in the store's versions, and only where these have no form for it, and the host allows that, are they raised.

use larder_backing_store::StoreVersions;
use larder_codec::DataVersion;
use larder_codec::value::{DEPTH_MAX, Decoder, Encoder, Needs, Payload};

use super::Value;
use crate::error::{Error, ErrorName, Result};

impl Value {
    /// Makes it one of the store's versions, or notes which ones it needs. A value of these or lesser versions stays as it is.
    ///
    /// # Errors
    /// `DataCloneError` if the bytes have no header of a value, the value is deeper than any that is read, or the store's
    /// versions have no form for it and may not be raised.
    #[inline]
    pub(crate) fn fit(&mut self, store: &StoreVersions) -> Result<()> {
        let payload = self.payload()?;
        let is_too_deep = match self.needs {
            Some(needs) => needs.depth() > DEPTH_MAX,
            None => payload.is_too_deep(),
        };
        if is_too_deep {
            return Err(too_deep());
        }
        let own = payload.versions().into();
        let version = store.data();
        if version.is_at_least(own) {
            return Ok(());
        }
        self.fit_older(store, version, own)
    }

    #[cold]
    fn say_anew(&mut self, store: &StoreVersions, version: DataVersion) -> Result<()> {
        let tree_of =
            |bytes| -> larder_codec::Result<_> { Decoder::new().decode(&Payload::read(bytes)?) };
        let mut anew = Vec::with_capacity(self.bytes.len());
        let mut tree = tree_of(&self.bytes).map_err(|error| {
            let what = format!("not the bytes of a value: {error}");
            Error::new(ErrorName::DataCloneError, what)
        })?;
        // Its writer may have had parts from values of lesser versions than it has written it in.
        if let Some(needs) = self.needs {
            tree.set_read_in(needs.version());
        }
        let mut encoder = Encoder::new();
        if let Err(needs) = encoder.encode_in(version, &tree, &mut anew) {
            let raised = version.max(needs.version());
            if !store.may_hold(raised) || encoder.encode_in(raised, &tree, &mut anew).is_err() {
                return Err(no_form(&needs, version));
            }
            self.raise_to = Some(raised);
        }
        self.bytes = anew;
        self.needs = None;
        Ok(())
    }

    fn fit_older(
        &mut self,
        store: &StoreVersions,
        version: DataVersion,
        own: DataVersion,
    ) -> Result<()> {
        match self.needs {
            Some(needs) if needs.restate(version, &mut self.bytes) => Ok(()),
            // Bytes that the host has serialised itself are kept if they may be.
            None if store.may_hold(own) => {
                self.raise_to = Some(own);
                Ok(())
            }
            _ => self.say_anew(store, version),
        }
    }
}

#[cold]
fn too_deep() -> Error {
    let what = format!("more than {DEPTH_MAX} containers of the value are one inside the other");
    Error::new(ErrorName::DataCloneError, what)
}

fn no_form(needs: &Needs, store: DataVersion) -> Error {
    let DataVersion { v8, blink } = store;
    let what = format!(
        "{needs}; the store has {v8} and {blink}, and is not raised unasked: browsers that have no greater versions would \
         delete it (the option raise_data_version allows it)"
    );
    Error::new(ErrorName::DataCloneError, what)
}
