//! Where the databases of one file are kept: in memory, in a folder of its name, or in a namespace of its name at an address.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use larder_idb::{DiskFileSystem, Executor, RaiseDataVersion, StorageOptions, SystemClock};

use crate::run::Settings;

/// A place, until it is closed.
#[derive(Default)]
pub(crate) struct Place {
    #[cfg(feature = "remote")]
    writer: Option<larder_remote_files::Writer>,
}

impl Place {
    /// Makes the place of this name, and says where its databases lie.
    pub(crate) fn open(
        settings: &Settings,
        name: &str,
    ) -> Result<(Place, StorageOptions), Box<dyn Error>> {
        let (place, mut storage) = match &settings.storage {
            None => {
                let storage = StorageOptions::in_memory(Arc::new(SystemClock));
                (Place::default(), storage)
            }
            Some(storage) if is_address(storage) => at_address(storage, name)?,
            Some(folder) => {
                let folder = folder.join(name);
                std::fs::DirBuilder::new().recursive(true).create(&folder)?;
                let fs = Arc::new(DiskFileSystem::new());
                let mut storage = StorageOptions::new(fs, folder, Arc::new(SystemClock));
                storage.new_store_form = settings.store_form;
                (Place::default(), storage)
            }
        };
        // Tests put everything, and open what they left again.
        storage.raise_data_version = RaiseDataVersion::WhenNeeded;
        if !settings.threads {
            storage.executor = Executor::Driven { seed: None };
        }
        Ok((place, storage))
    }

    /// Gives the place up, with all that waits in it written.
    pub(crate) fn close(self) -> Result<(), Box<dyn Error>> {
        #[cfg(feature = "remote")]
        if let Some(writer) = self.writer {
            writer.close()?;
        }
        Ok(())
    }
}

/// Whether it is an address, and no folder.
pub(crate) fn is_address(storage: &Path) -> bool {
    storage.to_str().is_some_and(|text| text.contains("://"))
}

#[cfg(feature = "remote")]
fn at_address(storage: &Path, name: &str) -> Result<(Place, StorageOptions), Box<dyn Error>> {
    use larder_remote_files as remote;
    let address = remote::Address::parse(storage.to_str().ok_or("an address is UTF-8")?)?;
    let folder = address.namespace().ok_or("the address has no /NAMESPACE")?;
    let namespace = remote::Namespace::new(format!("{folder}/{name}"))?;
    let password = std::env::var("PGPASSWORD").ok();
    let clock = Arc::new(remote::SystemClock::new());
    let cluster = address.connect(password.as_deref(), clock)?;
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce)?;
    let session = remote::SessionOptions {
        nonce,
        label: format!("wpt:{}", std::process::id()),
        duration: std::time::Duration::from_secs(10),
    };
    let options = remote::Options::default();
    let writer = remote::Writer::take(&cluster, &namespace, session, options)?;
    let fs = Arc::new(writer.files().clone());
    let storage = StorageOptions::new(fs, "/", Arc::new(SystemClock));
    let writer = Some(writer);
    Ok((Place { writer }, storage))
}

#[cfg(not(feature = "remote"))]
fn at_address(_: &Path, _: &str) -> Result<(Place, StorageOptions), Box<dyn Error>> {
    Err("an address needs the feature postgres, etcd, rados or foundationdb: cargo run --release -p larder-js-host --features postgres,etcd --bin wpt".into())
}
