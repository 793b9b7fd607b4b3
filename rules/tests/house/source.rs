//! Which names of its own crate a file uses.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemUse, UseTree, Visibility};

use crate::files;

/// A module: the names on the way to it from the crate's root.
pub(crate) type Module = Vec<String>;

/// A path to something, as it is written.
pub(crate) type Names = Vec<String>;

/// What stands in a file.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// Paths, of `use` items and of others.
    pub(crate) used: Vec<Names>,
    /// Names that it gives on: what each stands for.
    pub(crate) given_on: BTreeMap<String, Names>,
}

/// Files and folders of these names are not the library itself.
const NOT_THE_LIBRARY: [&str; 3] = ["tests", "model", "bin"];

/// The files of a crate, but for tests, by module.
pub(crate) fn library_files(src: &Path) -> BTreeMap<Module, PathBuf> {
    let files = files(src, "rs").into_iter();
    let found = files.map(|path| {
        let mut module: Module = path
            .strip_prefix(src)
            .unwrap()
            .with_extension("")
            .iter()
            .map(|name| name.to_str().unwrap().to_owned())
            .collect();
        let is_library = !module
            .iter()
            .any(|name| NOT_THE_LIBRARY.contains(&name.as_str()));
        module.pop_if(|name| ["mod", "lib", "main"].contains(&name.as_str()));
        is_library.then_some((module, path))
    });
    found.flatten().collect()
}

/// What stands in the files of a crate, but for tests, by module.
pub(crate) fn sources(src: &Path) -> BTreeMap<Module, Source> {
    let files = library_files(src).into_iter();
    files.map(|(module, path)| (module, read(&path))).collect()
}

fn read(path: &Path) -> Source {
    let text = fs::read_to_string(path).unwrap();
    let file = syn::parse_file(&text).unwrap();
    let mut source = Source::default();
    source.visit_file(&file);
    source
}

fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_test = |list: &syn::MetaList| list.tokens.to_string().contains("test");
        attribute.path().is_ident("cfg") && attribute.meta.require_list().is_ok_and(is_test)
    })
}

fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        _ => &[],
    }
}

/// Every path of a `use` tree, with the name that it has here.
pub(crate) fn leaves(tree: &UseTree, names: &mut Names, found: &mut Vec<(String, Names)>) {
    match tree {
        UseTree::Path(path) => {
            names.push(path.ident.to_string());
            leaves(&path.tree, names, found);
            names.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                leaves(tree, names, found);
            }
        }
        UseTree::Name(name) if name.ident == "self" => {
            let last = names.last().cloned().unwrap_or_default();
            found.push((last, names.clone()));
        }
        UseTree::Name(name) => {
            let own = name.ident.to_string();
            found.push((own.clone(), [&names[..], &[own]].concat()));
        }
        UseTree::Rename(rename) => {
            let path = [&names[..], &[rename.ident.to_string()]].concat();
            found.push((rename.rename.to_string(), path));
        }
        UseTree::Glob(_) => found.push(("*".to_owned(), names.clone())),
    }
}

impl<'ast> Visit<'ast> for Source {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_of_tests(attributes_of(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut found = Vec::new();
        leaves(&item.tree, &mut Vec::new(), &mut found);
        match item.vis {
            Visibility::Inherited => self.used.extend(found.into_iter().map(|(_, path)| path)),
            _ => self.given_on.extend(found),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|part| part.ident.to_string());
        let names: Names = names.collect();
        if ["crate", "super", "self"].contains(&&*names[0]) && names.len() > 1 {
            self.used.push(names);
        }
        visit::visit_path(self, path);
    }
}
