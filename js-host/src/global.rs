//! The global object of a script, and how a classic script runs in its scope.

use rquickjs::Ctx;
use rquickjs::context::EvalOptions;

use crate::shared::Scripts;

/// What the global object is, and so what a script finds in it.
#[derive(Default)]
pub enum Global {
    /// A `Window` without a document.
    #[default]
    Window,
    /// A `DedicatedWorkerGlobalScope` whose parent does not listen; these are what `importScripts` finds.
    DedicatedWorker(Scripts),
}

/// Runs a classic script in the global scope.
pub(crate) fn run_classic(ctx: &Ctx<'_>, name: &str, source: &str) -> rquickjs::Result<()> {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(name.to_owned());
    ctx.eval_with_options::<rquickjs::Value<'_>, _>(source, options)
        .map(drop)
}
