//! Every type in a public signature of a library can be named from that library alone.
//!
//! Names are followed as the compiler follows them: through `use`, `pub use` and modules, from one library of this workspace to
//! another. What macros make, and implementations of traits, are not looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use syn::visit::{self, Visit};
use syn::{Fields, ImplItem, Item, ItemImpl, TraitItem, Type, Visibility};

use crate::source::{Module, Names, leaves, library_files};
use crate::{LIBRARIES, root};

/// Paths that go on longer than that go round.
const STEPS_MAX: usize = 16;

/// Something with a name: the library's folder, the module, the name. A module itself has the empty name.
type Id = (&'static str, Module, String);

/// What stands in one module.
#[derive(Default)]
struct Contents {
    items: Vec<Item>,
    /// What each name that is brought in by `use` stands for, and whether it is given on.
    uses: BTreeMap<String, (Names, bool)>,
}

/// The modules of all libraries.
struct Libraries(BTreeMap<(&'static str, Module), Contents>);

impl Libraries {
    fn read() -> Self {
        let mut modules = BTreeMap::new();
        for folder in LIBRARIES {
            for (module, path) in library_files(&root().join(folder).join("src")) {
                let text = fs::read_to_string(&path).unwrap();
                let items = syn::parse_file(&text).unwrap().items;
                Self::add(&mut modules, folder, module, items);
            }
        }
        Self(modules)
    }

    fn add(
        modules: &mut BTreeMap<(&'static str, Module), Contents>,
        folder: &'static str,
        module: Module,
        items: Vec<Item>,
    ) {
        let mut contents = Contents::default();
        for item in items {
            match item {
                Item::Use(item) => {
                    let mut found = Vec::new();
                    leaves(&item.tree, &mut Vec::new(), &mut found);
                    let is_public = is_public(&item.vis);
                    let found = found.into_iter();
                    contents
                        .uses
                        .extend(found.map(|(name, path)| (name, (path, is_public))));
                }
                Item::Mod(inline) if inline.content.is_some() => {
                    let child = [&module[..], &[inline.ident.to_string()]].concat();
                    let items = inline.content.unwrap().1;
                    Self::add(modules, folder, child, items);
                }
                other => contents.items.push(other),
            }
        }
        modules.insert((folder, module), contents);
    }

    /// What a path leads to that is written in a module; `None` if that is nothing of this workspace.
    fn resolve(
        &self,
        folder: &'static str,
        module: &Module,
        path: &[String],
        steps: usize,
    ) -> Option<Id> {
        let (first, rest) = path.split_first()?;
        let steps = steps.checked_sub(1)?;
        if let Some(other) = LIBRARIES.into_iter().find(|other| is_crate(other, first)) {
            return self.walk(other, Module::new(), rest, steps);
        }
        match first.as_str() {
            "crate" => self.walk(folder, Module::new(), rest, steps),
            "self" => self.walk(folder, module.clone(), rest, steps),
            "super" => {
                let above = module.split_last()?.1.to_vec();
                match rest.first().is_some_and(|name| name == "super") {
                    true => self.resolve(folder, &above, rest, steps),
                    false => self.walk(folder, above, rest, steps),
                }
            }
            _ => self.walk(folder, module.clone(), path, steps),
        }
    }

    /// What the rest of a path leads to from a module on.
    fn walk(
        &self,
        folder: &'static str,
        module: Module,
        path: &[String],
        steps: usize,
    ) -> Option<Id> {
        let contents = self.0.get(&(folder, module.clone()))?;
        let Some((name, rest)) = path.split_first() else {
            return Some((folder, module, String::new()));
        };
        let child = [&module[..], std::slice::from_ref(name)].concat();
        if self.0.contains_key(&(folder, child.clone())) {
            return self.walk(folder, child, rest, steps);
        }
        if contents
            .items
            .iter()
            .any(|item| defined(item).is_some_and(|own| own == *name))
        {
            return Some((folder, module, name.clone()));
        }
        let (target, _) = contents.uses.get(name)?;
        // `use url::Url` in a module that has a `url` below it would go round.
        self.resolve(folder, &module, &[&target[..], rest].concat(), steps)
    }

    /// What can be named from a module: its public items, and those of what it gives on.
    fn nameable(&self, folder: &'static str, module: &Module, found: &mut BTreeSet<Id>) {
        if !found.insert((folder, module.clone(), String::new())) {
            return;
        }
        let contents = &self.0[&(folder, module.clone())];
        for item in &contents.items {
            match item {
                Item::Mod(item) if is_public(&item.vis) => {
                    let child = [&module[..], &[item.ident.to_string()]].concat();
                    self.nameable(folder, &child, found);
                }
                item => found.extend(defined(item).map(|name| (folder, module.clone(), name))),
            }
        }
        for (path, is_public) in contents.uses.values() {
            match self.resolve(folder, module, path, STEPS_MAX) {
                Some((folder, module, name)) if *is_public && name.is_empty() => {
                    self.nameable(folder, &module, found);
                }
                Some(id) if *is_public => {
                    found.insert(id);
                }
                _ => {}
            }
        }
    }

    /// The types in the public signatures of what can be named, each with a place where it stands.
    fn in_signatures(&self, nameable: &BTreeSet<Id>) -> BTreeMap<Id, String> {
        let mut found = BTreeMap::new();
        for ((folder, module), contents) in &self.0 {
            for item in &contents.items {
                let owner = match item {
                    Item::Impl(item) => self.owner(folder, module, item),
                    item => defined(item).map(|name| (*folder, module.clone(), name)),
                };
                let Some(owner) = owner.filter(|owner| nameable.contains(owner)) else {
                    continue;
                };
                let mut paths = Paths::default();
                paths.visit_public(item);
                for path in paths.0 {
                    let id = self.resolve(folder, module, &path, STEPS_MAX);
                    if let Some(id) = id.filter(|(_, _, name)| !name.is_empty()) {
                        found.entry(id).or_insert_with(|| owner.2.clone());
                    }
                }
            }
        }
        found
    }

    /// The type that an inherent implementation is for.
    fn owner(&self, folder: &'static str, module: &Module, item: &ItemImpl) -> Option<Id> {
        match &*item.self_ty {
            Type::Path(of) if item.trait_.is_none() => {
                self.resolve(folder, module, &names(&of.path), STEPS_MAX)
            }
            _ => None,
        }
    }
}

/// The paths in public signatures.
#[derive(Default)]
struct Paths(Vec<Names>);

impl Paths {
    fn visit_public(&mut self, item: &Item) {
        match item {
            Item::Struct(item) => self.visit_fields_that_are_public(&item.fields),
            Item::Enum(item) => self.visit_item_enum(item),
            Item::Type(item) => self.visit_type(&item.ty),
            Item::Const(item) => self.visit_type(&item.ty),
            Item::Fn(item) => self.visit_signature(&item.sig),
            Item::Trait(item) => {
                // Supertraits are not looked at: one that cannot be named is how a trait is closed to others.
                for item in &item.items {
                    match item {
                        TraitItem::Fn(item) => self.visit_signature(&item.sig),
                        item => self.visit_trait_item(item),
                    }
                }
            }
            Item::Impl(item) => {
                for item in &item.items {
                    match item {
                        ImplItem::Fn(item) if is_public(&item.vis) => {
                            self.visit_signature(&item.sig)
                        }
                        ImplItem::Const(item) if is_public(&item.vis) => self.visit_type(&item.ty),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn visit_fields_that_are_public(&mut self, fields: &Fields) {
        let public = fields.iter().filter(|field| is_public(&field.vis));
        public.for_each(|field| self.visit_type(&field.ty));
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0.push(names(path));
        visit::visit_path(self, path);
    }
}

fn names(path: &syn::Path) -> Names {
    path.segments
        .iter()
        .map(|part| part.ident.to_string())
        .collect()
}

/// The name of a public type, trait, function or constant.
fn defined(item: &Item) -> Option<String> {
    let (visibility, name) = match item {
        Item::Struct(item) => (&item.vis, &item.ident),
        Item::Enum(item) => (&item.vis, &item.ident),
        Item::Trait(item) => (&item.vis, &item.ident),
        Item::Type(item) => (&item.vis, &item.ident),
        Item::Const(item) => (&item.vis, &item.ident),
        Item::Fn(item) => (&item.vis, &item.sig.ident),
        _ => return None,
    };
    is_public(visibility).then(|| name.to_string())
}

const fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Whether a path's first name is that of the library in a folder.
fn is_crate(folder: &str, name: &str) -> bool {
    name.strip_prefix("larder_")
        .is_some_and(|rest| rest.replace('_', "-") == folder)
}

/// What stands in the signatures of a library and cannot be named from it.
fn unnameable(libraries: &Libraries, folder: &'static str) -> Vec<String> {
    let mut nameable = BTreeSet::new();
    libraries.nameable(folder, &Module::new(), &mut nameable);
    let types = libraries.in_signatures(&nameable).into_iter();
    types
        .filter(|(id, _)| !nameable.contains(id))
        .map(|((folder, module, name), at)| {
            format!(
                "{folder}/{}::{name}, in the interface of {at}",
                module.join("::")
            )
        })
        .collect()
}

#[test]
fn every_type_in_a_public_signature_can_be_named_from_its_library() {
    let libraries = Libraries::read();
    // The backing store's signatures name types of codec and of leveldb, on purpose: its users use these, too.
    for folder in ["codec", "leveldb", "idb"] {
        let found = unnameable(&libraries, folder);
        assert!(
            found.is_empty(),
            "cannot be named from {folder}:\n{}",
            found.join("\n")
        );
    }
}
