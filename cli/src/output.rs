//! Where output goes: a file that appears whole, or standard output.

use std::fs::File;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};

use crate::interrupt::RemovedOnInterrupt;

/// Bytes gathered before a write.
const BUFFER_BYTES: usize = 256 * 1024;

/// An output. Call [`Output::finish`] at the end: dropping it loses what is still in the buffer and, for a file,
/// leaves the file of that name as it was.
#[derive(Debug)]
pub struct Output {
    target: Target,
}

#[derive(Debug)]
enum Target {
    Stdout(BufWriter<StdoutLock<'static>>),
    File {
        writer: BufWriter<tempfile::NamedTempFile>,
        path: PathBuf,
        interrupted: RemovedOnInterrupt,
    },
    /// Something that cannot be replaced by renaming (a device, a pipe): written straight.
    Special(BufWriter<File>),
}

impl Output {
    /// To `path`, or to standard output.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn open(path: Option<&Path>) -> io::Result<Self> {
        let target = match path {
            None => Target::Stdout(BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock())),
            Some(path) => Self::open_file(path)?,
        };
        Ok(Self { target })
    }

    fn open_file(path: &Path) -> io::Result<Target> {
        // A link stays a link: what it leads to is replaced.
        let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if path.metadata().is_ok_and(|meta| !meta.is_file()) {
            let file = File::options().write(true).open(path)?;
            return Ok(Target::Special(BufWriter::with_capacity(
                BUFFER_BYTES,
                file,
            )));
        }
        let dir = match path.parent() {
            Some(dir) if dir != Path::new("") => dir,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".larder-");
        as_new_files_are(&mut builder);
        let made = RemovedOnInterrupt::make(|| builder.tempfile_in(dir));
        let (temporary, interrupted) = made.map_err(|error| {
            // The name of the temporary file would puzzle a user that named another one.
            let text = error.to_string();
            let cause = text.split(" at path ").next().unwrap_or_default();
            io::Error::new(error.kind(), cause)
        })?;
        Ok(Target::File {
            interrupted,
            writer: BufWriter::with_capacity(BUFFER_BYTES, temporary),
            path: path.to_owned(),
        })
    }

    /// Whether it is standard output.
    #[must_use]
    pub fn is_stdout(&self) -> bool {
        matches!(self.target, Target::Stdout(_))
    }

    /// Writes what is left and, for a file, puts it in its place.
    ///
    /// # Errors
    /// If that fails.
    pub fn finish(self) -> io::Result<()> {
        match self.target {
            Target::Stdout(mut writer) => writer.flush(),
            Target::Special(mut writer) => writer.flush(),
            Target::File {
                writer,
                path,
                interrupted,
            } => {
                let temporary = writer
                    .into_inner()
                    .map_err(io::IntoInnerError::into_error)?;
                temporary.persist(&path).map_err(|error| error.error)?;
                drop(interrupted);
                Ok(())
            }
        }
    }
}

/// Temporary files are private; an output file has the permissions that a new file would have under the umask.
#[cfg(unix)]
fn as_new_files_are(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(std::fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn as_new_files_are(_builder: &mut tempfile::Builder<'_, '_>) {}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Stdout(writer) => writer.write(bytes),
            Target::File { writer, .. } => writer.write(bytes),
            Target::Special(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Stdout(writer) => writer.flush(),
            Target::File { writer, .. } => writer.flush(),
            Target::Special(writer) => writer.flush(),
        }
    }
}
