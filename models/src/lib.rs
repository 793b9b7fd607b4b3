//! The long tests of the libraries are tests only: `tests/`. Short ones are with the library that they test.
