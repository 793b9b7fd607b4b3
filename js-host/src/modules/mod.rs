//! Where modules come from: the host's own, built in, and those of scripts, from files.
//!
//! | file | what it is |
//! |---|---|
//! | `built_in` | the host's own modules, which scripts cannot import |
//! | `resolve` | from specifiers to files, as bundlers for browsers do |
//! | `package` | `package.json` |
//! | `format` | ES module, CommonJS or JSON |
//! | `names` | names of exports, guessed from texts |
//! | `common_js` | CommonJS modules for importers and for `require` |

mod built_in;
mod common_js;
mod format;
mod names;
mod package;
mod resolve;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Exception, Function, Module, Result};
use url::Url;

pub(crate) use built_in::{MAIN, built_in};
pub(crate) use common_js::install;

use crate::shared::Shared;
use built_in::SCHEME;
use common_js::Facade;
use format::{Format, read_source};
use names::Names;
use resolve::{By, Found, resolve};

/// Resolves and loads modules.
#[derive(Clone)]
pub(crate) struct Modules {
    shared: Rc<Shared>,
    known: Rc<RefCell<Known>>,
}

/// What has been found out about modules of scripts.
#[derive(Default)]
struct Known {
    /// By the name of an importer and the specifier in its text, the names that it imports.
    wanted: HashMap<String, HashMap<String, Names>>,
    /// By file.
    formats: HashMap<String, Format>,
}

impl Modules {
    pub(crate) fn new(shared: Rc<Shared>) -> Self {
        let known = Rc::default();
        Self { shared, known }
    }

    /// Makes a module of a script's text, with `import.meta` if its name is the full one of a file.
    pub(crate) fn declare<'js>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
        source: &str,
    ) -> Result<Module<'js, Declared>> {
        let wanted = names::wanted(source);
        self.known
            .borrow_mut()
            .wanted
            .insert(name.to_owned(), wanted);
        let module = Module::declare(ctx.clone(), name, source)?;
        if is_url(name) {
            module.meta()?.set("url", name)?;
        } else if let Ok(url) = Url::from_file_path(name) {
            let meta = module.meta()?;
            meta.set("url", url.as_str())?;
            let base = name.to_owned();
            let resolve = move |ctx: Ctx<'js>, specifier: String| {
                let found = found(&ctx, &base, &specifier, By::Import)?;
                let Found::File(path) = found else {
                    return Ok(String::new());
                };
                Ok::<_, rquickjs::Error>(
                    Url::from_file_path(path).map_or(String::new(), String::from),
                )
            };
            meta.set("resolve", Function::new(ctx.clone(), resolve)?)?;
        }
        Ok(module)
    }

    fn json<'js>(&self, ctx: &Ctx<'js>, path: &str) -> Result<Module<'js, Declared>> {
        let value = common_js::json(ctx, path)?;
        let module = Module::declare(ctx.clone(), path, "export default import.meta.value;")?;
        module.meta()?.set("value", value)?;
        Ok(module)
    }

    fn format(&self, ctx: &Ctx<'_>, path: &str) -> Format {
        if let Some(known) = self.known.borrow().formats.get(path) {
            return *known;
        }
        let format = Format::of(ctx, path);
        self.known
            .borrow_mut()
            .formats
            .insert(path.to_owned(), format);
        format
    }
}

/// Whether a module is no file: a worker's, from a blob or the text of its URL.
fn is_url(name: &str) -> bool {
    name.starts_with("blob:") || name.starts_with("data:")
}

/// What a specifier means to an importer; a `TypeError` that names both if it means nothing.
fn found(ctx: &Ctx<'_>, base: &str, specifier: &str, by: By) -> Result<Found> {
    if is_url(base) && Url::parse(specifier).is_err() {
        let what = format!("Cannot find \"{specifier}\": it is relative to no file, but to {base}");
        return Err(Exception::throw_type(ctx, &what));
    }
    resolve(Path::new(base), specifier, by).map_err(|why| {
        let verb = match by {
            By::Import => "imported",
            By::Require => "required",
        };
        let what = format!("Cannot find \"{specifier}\", {verb} by {base}: {why}");
        Exception::throw_type(ctx, &what)
    })
}

fn is_of_json(ctx: &Ctx<'_>, attributes: Option<&ImportAttributes<'_>>) -> Result<bool> {
    let Some(attributes) = attributes else {
        return Ok(false);
    };
    for key in attributes.keys() {
        let key = key?;
        if key != "type" {
            let what = format!("The import attribute \"{key}\" is not known");
            return Err(Exception::throw_type(ctx, &what));
        }
    }
    match attributes.get_type()?.as_deref() {
        None => Ok(false),
        Some("json") => Ok(true),
        Some(other) => {
            let what = format!("There are no modules of type \"{other}\"");
            Err(Exception::throw_type(ctx, &what))
        }
    }
}

impl Resolver for Modules {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        specifier: &str,
        attributes: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        if let Some(base) = base.strip_prefix(SCHEME) {
            // What a script requires is a file, by its full name.
            return Ok(match specifier.starts_with('/') {
                true => specifier.to_owned(),
                false => built_in::resolved(base, specifier),
            });
        }
        let is_json = is_of_json(ctx, attributes.as_ref())?;
        let path = match found(ctx, base, specifier, By::Import)? {
            Found::File(path) => path,
            Found::Nothing => String::new(),
        };
        if is_json || (!path.is_empty() && self.format(ctx, &path) != Format::CommonJs) {
            return Ok(path);
        }
        let known = self.known.borrow();
        let wanted = known.wanted.get(base).and_then(|of| of.get(specifier));
        let wanted = wanted.cloned().unwrap_or_default();
        Ok(Facade { path, wanted }.name())
    }
}

impl Loader for Modules {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        attributes: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        if let Some(source) = built_in(name) {
            return Module::declare(ctx.clone(), name, source);
        }
        if let Some(facade) = Facade::of_name(name) {
            return facade.declare(ctx, &self.shared);
        }
        if is_of_json(ctx, attributes.as_ref())? || self.format(ctx, name) == Format::Json {
            return self.json(ctx, name);
        }
        let source = read_source(name).map_err(|why| Exception::throw_type(ctx, &why))?;
        self.declare(ctx, name, &source)
    }
}
