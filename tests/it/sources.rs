//! The modules of a crate, and where its names lead.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Ident, Item, ItemImpl, UseTree, Visibility};

/// A path of modules from the crate's root.
pub(super) type ModulePath = Vec<String>;

/// A crate: the items of each of its modules, and the files that they stand in.
pub(super) struct Crate {
    modules: BTreeMap<ModulePath, Vec<Item>>,
    files: BTreeMap<ModulePath, PathBuf>,
}

/// What a name means.
#[derive(Clone)]
pub(super) enum Place<'a> {
    Module(ModulePath),
    /// With the module that it is defined in.
    Item(ModulePath, &'a Item),
    /// In another crate, or made by a macro.
    Elsewhere(String),
}

impl Crate {
    /// Reads `lib.rs` and the modules below it, without those of tests.
    pub(super) fn read(folder: &Path) -> Self {
        let mut own = Self {
            modules: BTreeMap::new(),
            files: BTreeMap::new(),
        };
        own.add(&folder.join("lib.rs"), folder, ModulePath::new());
        own
    }

    /// The file of a module.
    pub(super) fn file(&self, module: &[String]) -> &Path {
        &self.files[module]
    }

    /// The public names of a module. One name may stand for a function and a module.
    pub(super) fn exports(&self, module: &[String]) -> Vec<(String, Place<'_>)> {
        let mut found = Vec::new();
        for item in &self.modules[module] {
            match item {
                Item::Use(item) if is_public(&item.vis) && is_seen(&item.attrs) => {
                    let mut leaves = Vec::new();
                    leaves_of(&item.tree, &mut Vec::new(), &mut leaves);
                    for (name, path) in leaves {
                        found.extend(self.exported(module, &name, &path));
                    }
                }
                Item::Use(_) => {}
                item => {
                    let Some((name, visibility, attributes)) = head(item) else {
                        continue;
                    };
                    if is_public(visibility) && is_seen(attributes) {
                        found.push((name.to_string(), own(module, name, item)));
                    }
                }
            }
        }
        found
    }

    /// What `pub use path as name` exports; the names of another module for a glob.
    fn exported(&self, module: &[String], name: &str, path: &[String]) -> Vec<(String, Place<'_>)> {
        if name == "*" {
            let target = self.walk(module, path).expect("a module of the crate");
            return self.exports(&target);
        }
        let places = self.resolve(module, path);
        if places.is_empty() {
            return vec![(name.to_owned(), Place::Elsewhere(path.join("::")))];
        }
        places
            .into_iter()
            .map(|place| (name.to_owned(), place))
            .collect()
    }

    /// The module that a path leads to.
    fn walk(&self, module: &[String], path: &[String]) -> Option<ModulePath> {
        let mut at = module.to_vec();
        for (place, segment) in path.iter().enumerate() {
            match segment.as_str() {
                "crate" if place == 0 => at.clear(),
                "self" if place == 0 => {}
                "super" => {
                    at.pop()?;
                }
                name => at.push(name.to_owned()),
            }
        }
        self.modules.contains_key(&at).then_some(at)
    }

    /// What a path means in a module; nothing if that is not in the sources of this crate.
    fn resolve(&self, module: &[String], path: &[String]) -> Vec<Place<'_>> {
        let Some((name, parents)) = path.split_last() else {
            return Vec::new();
        };
        let Some(parent) = self.walk(module, parents) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for item in &self.modules[&parent] {
            if let Item::Use(item) = item {
                let mut leaves = Vec::new();
                leaves_of(&item.tree, &mut Vec::new(), &mut leaves);
                let leaf = leaves.iter().find(|(leaf, to)| leaf == name && to != path);
                if let Some((_, to)) = leaf {
                    found.extend(self.resolve(&parent, to));
                }
            } else if let Some((ident, ..)) = head(item).filter(|(ident, vis, _)| {
                // A private module beside a function of its name is not exported with it.
                *ident == name.as_str() && (is_public(vis) || !matches!(item, Item::Mod(_)))
            }) {
                found.push(own(&parent, ident, item));
            }
        }
        found
    }

    /// Every impl with its module.
    pub(super) fn impls(&self) -> impl Iterator<Item = (&ModulePath, &ItemImpl)> {
        let all = self
            .modules
            .iter()
            .flat_map(|(module, items)| items.iter().map(move |item| (module, item)));
        all.filter_map(|(module, item)| match item {
            Item::Impl(item) if is_seen(&item.attrs) => Some((module, item)),
            _ => None,
        })
    }

    /// The modules that define something of this name.
    pub(super) fn homes(&self, name: &str) -> Vec<&ModulePath> {
        let defines = |items: &[Item]| {
            let mut heads = items
                .iter()
                .filter(|item| !matches!(item, Item::Mod(_) | Item::Fn(_)))
                .filter_map(head);
            heads.any(|(own, ..)| own == name)
        };
        let homes = self.modules.iter().filter(|(_, items)| defines(items));
        homes.map(|(module, _)| module).collect()
    }

    fn add(&mut self, file: &Path, folder: &Path, module: ModulePath) {
        let text =
            fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.insert(parsed.items, file, folder, module);
    }

    fn insert(&mut self, items: Vec<Item>, file: &Path, folder: &Path, module: ModulePath) {
        for item in &items {
            let Item::Mod(inner) = item else { continue };
            if !is_seen(&inner.attrs) {
                continue;
            }
            let name = inner.ident.to_string();
            let path = [&module[..], std::slice::from_ref(&name)].concat();
            let below = folder.join(&name);
            match &inner.content {
                Some((_, items)) => self.insert(items.clone(), file, &below, path),
                None => self.add(&file_of(&below), &below, path),
            }
        }
        self.files.insert(module.clone(), file.to_owned());
        self.modules.insert(module, items);
    }
}

fn file_of(below: &Path) -> PathBuf {
    let file = below.with_extension("rs");
    if file.is_file() {
        file
    } else {
        below.join("mod.rs")
    }
}

/// What a name means where it is defined.
fn own<'a>(module: &[String], name: &Ident, item: &'a Item) -> Place<'a> {
    match item {
        Item::Mod(_) => Place::Module([module, &[name.to_string()]].concat()),
        item => Place::Item(module.to_vec(), item),
    }
}

/// The names that a `use` brings in, each with its path.
fn leaves_of(tree: &UseTree, path: &mut Vec<String>, leaves: &mut Vec<(String, Vec<String>)>) {
    let with = |path: &[String], last: &Ident| [path, &[last.to_string()]].concat();
    match tree {
        UseTree::Path(inner) => {
            path.push(inner.ident.to_string());
            leaves_of(&inner.tree, path, leaves);
            path.pop();
        }
        UseTree::Name(name) => leaves.push((name.ident.to_string(), with(path, &name.ident))),
        UseTree::Rename(name) => leaves.push((name.rename.to_string(), with(path, &name.ident))),
        UseTree::Glob(_) => leaves.push(("*".to_owned(), path.clone())),
        UseTree::Group(group) => group
            .items
            .iter()
            .for_each(|tree| leaves_of(tree, path, leaves)),
    }
}

/// Name, visibility and attributes of what can be named.
pub(super) fn head(item: &Item) -> Option<(&Ident, &Visibility, &[Attribute])> {
    Some(match item {
        Item::Const(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Enum(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Fn(item) => (&item.sig.ident, &item.vis, &item.attrs),
        Item::Mod(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Static(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Struct(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Trait(item) => (&item.ident, &item.vis, &item.attrs),
        Item::Type(item) => (&item.ident, &item.vis, &item.attrs),
        _ => return None,
    })
}

pub(super) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Neither of tests alone nor hidden.
pub(super) fn is_seen(attributes: &[Attribute]) -> bool {
    !attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else {
            return false;
        };
        let inside = list.tokens.to_string();
        (list.path.is_ident("cfg") && inside == "test")
            || (list.path.is_ident("doc") && inside == "hidden")
    })
}
