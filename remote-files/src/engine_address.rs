//! What an address of each engine gives.

use crate::blobs::Blobs;
use crate::catalogue::Catalogue;
use crate::error::Result;
use crate::namespace::Namespace;
use std::fmt;
use std::sync::Arc;

/// A parsed address of an engine.
pub(crate) trait EngineAddress: fmt::Debug + Send + Sync {
    /// Connects; `password` is for an address that has none.
    fn connect(&self, password: Option<&str>) -> Result<(Arc<dyn Catalogue>, Arc<dyn Blobs>)>;

    /// The namespace that the address names.
    fn namespace(&self) -> Option<&Namespace>;
}

/// Catalogue and blobs of one engine.
#[cfg(feature = "engine")]
pub(crate) fn both<E: Catalogue + Blobs + 'static>(
    engine: E,
) -> (Arc<dyn Catalogue>, Arc<dyn Blobs>) {
    let engine = Arc::new(engine);
    (engine.clone(), engine)
}
