//! A database and a page that have the same content.
