//! Tests of the crate as its users see it.

#[cfg(test)]
mod blobs;
#[cfg(test)]
mod chromium_rows;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod operations;
