//! `larder`: see what is in a Chromium IndexedDB store.

fn main() {}
