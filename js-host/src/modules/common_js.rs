//! CommonJS modules: what `platform/common_js.js` needs to run them, and ES modules that stand for them towards importers.

use std::collections::BTreeSet;
use std::rc::Rc;

use rquickjs::convert::List;
use rquickjs::function::This;
use rquickjs::module::Declared;
use rquickjs::{CatchResultExt, Ctx, Exception, Function, Module, Object, Result, Value};

use super::format::{Format, read_source, wrapped};
use super::names::{Names, exported};
use super::resolve::{By, Found, resolve};
use super::{Modules, found};
use crate::shared::Shared;

/// What the names of the modules that stand for CommonJS modules begin with.
const SCHEME: &str = "commonjs:";

/// An ES module that stands for a CommonJS module towards importers of these names. Each name is an export, also one
/// that the module turns out not to have, as with bundlers.
pub(super) struct Facade {
    /// Empty for a module that a `browser` field has taken away.
    pub(super) path: String,
    pub(super) wanted: Names,
}

impl Facade {
    pub(super) fn name(&self) -> String {
        let names: Vec<&str> = self.wanted.iter().map(String::as_str).collect();
        format!("{SCHEME}{}?{}", self.path, names.join(","))
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        let (path, names) = name.strip_prefix(SCHEME)?.rsplit_once('?')?;
        let names = names.split(',').filter(|name| !name.is_empty());
        Some(Self {
            path: path.to_owned(),
            wanted: names.map(str::to_owned).collect(),
        })
    }

    pub(super) fn declare<'js>(
        &self,
        ctx: &Ctx<'js>,
        shared: &Rc<Shared>,
    ) -> Result<Module<'js, Declared>> {
        let mut names = self.wanted.clone();
        if !self.path.is_empty() {
            all_exported(&self.path, &mut names, &mut BTreeSet::new());
        }
        let mut source =
            String::from("const [all, main] = import.meta.load();\nexport { main as default };\n");
        for (n, name) in names.iter().enumerate() {
            source += &format!("const v{n} = all.{name};\nexport {{ v{n} as {name} }};\n");
        }
        let module = Module::declare(ctx.clone(), self.name(), source)?;
        let (path, shared) = (self.path.clone(), Rc::clone(shared));
        let load = move |ctx: Ctx<'js>| -> Result<Value<'js>> {
            shared.call(&ctx, "importCommonJs", (path.as_str(),))
        };
        let load = Function::new(ctx.clone(), load)?;
        module.meta()?.set("load", load)?;
        Ok(module)
    }
}

/// Adds the names that a file exports as far as its text shows them, with those of modules that it passes on.
fn all_exported(path: &str, names: &mut Names, seen: &mut BTreeSet<String>) {
    if !seen.insert(path.to_owned()) {
        return;
    }
    // What cannot be read is said when it is run.
    let Ok(text) = read_source(path) else { return };
    let exported = exported(&text);
    names.extend(exported.names);
    for specifier in exported.from {
        if let Ok(Found::File(other)) = resolve(path.as_ref(), &specifier, By::Require) {
            all_exported(&other, names, seen);
        }
    }
}

/// The value of a JSON file.
pub(super) fn json<'js>(ctx: &Ctx<'js>, path: &str) -> Result<Value<'js>> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Exception::throw_type(ctx, &format!("{path}: {error}")))?;
    let value = ctx.json_parse(text.trim_start_matches('\u{feff}'));
    value.catch(ctx).map_err(|error| {
        let why = match &error {
            rquickjs::CaughtError::Exception(exception) => exception.message().unwrap_or_default(),
            other => other.to_string(),
        };
        Exception::throw_syntax(ctx, &format!("{path}: {why}"))
    })
}

/// Puts on `native` what `require` is made of.
pub(crate) fn install<'js>(ctx: &Ctx<'js>, modules: &Modules, native: &Object<'js>) -> Result<()> {
    let common_js = Object::new(ctx.clone())?;
    // The full name of a file, or an empty one for what a `browser` field has taken away.
    let resolve = |ctx: Ctx<'js>, base: String, specifier: String| {
        Ok::<_, rquickjs::Error>(match found(&ctx, &base, &specifier, By::Require)? {
            Found::File(path) => path,
            Found::Nothing => String::new(),
        })
    };
    common_js.set("resolve", Function::new(ctx.clone(), resolve)?)?;
    // What a file is, and the function that runs it, its value or its namespace.
    let modules = modules.clone();
    let compile = move |ctx: Ctx<'js>, path: String| -> Result<List<(&'static str, Value<'js>)>> {
        match modules.format(&ctx, &path) {
            Format::Json => Ok(List(("json", json(&ctx, &path)?))),
            Format::Module => Ok(List(("module", import_now(&ctx, &path)?))),
            Format::CommonJs => {
                let source = read_source(&path).map_err(|why| Exception::throw_type(&ctx, &why))?;
                let mut options = rquickjs::context::EvalOptions::default();
                options.strict = false;
                options.filename = Some(path);
                let run = ctx.eval_with_options(wrapped(&source), options)?;
                Ok(List(("script", run)))
            }
        }
    };
    common_js.set("compile", Function::new(ctx.clone(), compile)?)?;
    native.set("commonJs", common_js)
}

/// An ES module that is required: microtasks that wait run now, since only so it comes to its end.
fn import_now<'js>(ctx: &Ctx<'js>, path: &str) -> Result<Value<'js>> {
    let promise = Module::import(ctx, path)?;
    // If it fails, the call that requires the module reports it.
    let ignore = Function::new(ctx.clone(), || ())?;
    promise
        .catch()?
        .call::<_, Value<'js>>((This(promise.clone()), ignore))?;
    match promise.finish() {
        Err(rquickjs::Error::WouldBlock) => {
            let what =
                format!("{path} awaits something at its top and cannot be required: import it");
            Err(Exception::throw_type(ctx, &what))
        }
        other => other,
    }
}
