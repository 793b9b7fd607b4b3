//! The rules of the house are tests only: `tests/house`.
