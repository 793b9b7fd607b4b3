//! What `larder-remote-files` needs of librados, Ceph's library of objects.
//!
//! A [`Pool`] is a connection to a cluster and a namespace of one of its pools. All that is asked of an object in one call,
//! [`Pool::read`] or [`Pool::write`], is one request: it is executed as a whole or not at all, at one moment. Calls wait for their answer, for as
//! long as the cluster's options say (`rados_osd_op_timeout`), and may come from several threads at once.
//!
//! librados itself sends a request again when its connection was cut or when the object's home has moved. Each request has a number, by which
//! the cluster answers one that it has executed already without executing it again. A request that was given up after its time may have been executed,
//! or may be executed later.
//!
//! ```no_run
//! use larder_librados::{Pool, ReadPart, Answer, Settings, WritePart};
//! let options = [("mon_host", "10.0.0.1"), ("rados_osd_op_timeout", "3")];
//! let settings = Settings { user: None, reads_file: false, options: &options };
//! let pool = Pool::open(&settings, c"notes", c"room")?;
//! pool.write(c"object", &[WritePart::Create, WritePart::Set(&[(b"key", b"value")])])?;
//! let answers = pool.read(c"object", &[ReadPart::Values(&[b"key"])])?;
//! assert!(matches!(&answers[..], [Answer::Rows { rows, .. }] if rows.len() == 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod errno;
mod ffi;
mod open;
mod pool;
mod read;
mod write;

pub use errno::Errno;
pub use open::{OpenError, Settings};
pub use pool::Pool;
pub use read::{Answer, ReadPart, Row};
pub use write::WritePart;
