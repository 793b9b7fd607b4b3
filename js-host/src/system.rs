//! [`System`]: what scripts get of the process and of the machine. Nothing, unless the host's owner gives it.

use std::io::{self, Read};
use std::path::PathBuf;
use std::rc::Rc;

use rquickjs::{ArrayBuffer, Ctx, Exception, Function, Object, Result};

use crate::files::Files;
use crate::shared::Shared;

/// Bytes of standard input that are read at a time.
const CHUNK_LEN_BYTES: usize = 1 << 16;

/// What scripts get of the process and of the machine: nothing by default.
#[derive(Debug, Default)]
pub struct System {
    /// Makes the global `larder`, with arguments, standard input and an exit status.
    pub process: Option<Process>,
    /// The folder below which `fetch` reads files, and workers' scripts are found by URLs of the origin.
    pub files: Option<PathBuf>,
    /// The folder of the main script, where workers' scripts are found, too.
    pub scripts: Option<PathBuf>,
}

/// The process as scripts see it.
pub struct Process {
    /// `larder.args`.
    pub arguments: Vec<String>,
    /// What `larder.stdin` reads.
    pub input: Box<dyn Read>,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process")
            .field("arguments", &self.arguments)
            .finish_non_exhaustive()
    }
}

/// Puts what there is of it on the object `native` of `platform/native.js`. `before_wait` is called before the thread waits for input.
pub(crate) fn install<'js>(
    ctx: &Ctx<'js>,
    shared: &Rc<Shared>,
    native: &Object<'js>,
    system: System,
    before_wait: impl Fn() + 'js,
) -> Result<()> {
    native.set("readFile", reader(ctx, system.files)?)?;
    if let Some(process) = system.process {
        native.set("process", self::process(ctx, shared, process, before_wait)?)?;
    }
    Ok(())
}

/// A function that gives `{ buffer }` of a file, or `{ why }` it cannot be had.
fn reader<'js>(ctx: &Ctx<'js>, folder: Option<PathBuf>) -> Result<Function<'js>> {
    let files = match folder {
        None => Err("no folder of files was given: larder run --files DIR".to_owned()),
        Some(folder) => Files::below(&folder),
    };
    let read = move |ctx: Ctx<'js>, url: String, pathname: String| -> Result<Object<'js>> {
        let answer = Object::new(ctx.clone())?;
        let content = files.as_ref().map_err(String::clone);
        match content.and_then(|files| files.read(&url, &pathname)) {
            Ok(bytes) => answer.set("buffer", ArrayBuffer::new(ctx, bytes)?)?,
            Err(why) => answer.set("why", why)?,
        }
        Ok(answer)
    };
    Function::new(ctx.clone(), read)
}

fn process<'js>(
    ctx: &Ctx<'js>,
    shared: &Rc<Shared>,
    given: Process,
    before_wait: impl Fn() + 'js,
) -> Result<Object<'js>> {
    let process = Object::new(ctx.clone())?;
    process.set("args", given.arguments)?;
    let input = std::cell::RefCell::new(given.input);
    let read = move |ctx: Ctx<'js>| -> Result<Option<ArrayBuffer<'js>>> {
        let mut bytes = vec![0; CHUNK_LEN_BYTES];
        before_wait();
        let len = match read_some(&mut *input.borrow_mut(), &mut bytes) {
            Ok(0) => return Ok(None),
            Ok(len) => len,
            Err(error) => {
                let what = format!("standard input cannot be read: {error}");
                return Err(Exception::throw_dom(&ctx, "NotReadableError", &what));
            }
        };
        bytes.truncate(len);
        ArrayBuffer::new(ctx, bytes).map(Some)
    };
    process.set("read", Function::new(ctx.clone(), read)?)?;
    let all = Rc::clone(shared);
    let exit = move |code: u8| all.exit(code);
    process.set("exit", Function::new(ctx.clone(), exit)?)?;
    Ok(process)
}

fn read_some(input: &mut dyn Read, bytes: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
