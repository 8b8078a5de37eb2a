//! The sources of the workspace: the modules of each crate, and the definitions of their names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Ident, Item, ItemImpl, UseTree, Visibility};

/// A path of modules from the crate's root.
pub(crate) type ModulePath = Vec<String>;

/// The sources of a crate, without those of tests.
pub(crate) struct Crate {
    pub(crate) modules: BTreeMap<ModulePath, Module>,
}

pub(crate) struct Module {
    pub(crate) items: Vec<Item>,
    /// The attributes at the head of the file, its documentation among them.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) file: PathBuf,
    /// Whether the module, or one around it, is `#[doc(hidden)]`.
    is_hidden: bool,
}

/// The definition of a public name.
#[derive(Clone)]
pub(crate) enum Place<'a> {
    Module(ModulePath),
    /// With the module that it is defined in.
    Item(ModulePath, &'a Item),
    /// In another crate, or made by a macro.
    Elsewhere(String),
}

/// Returns the folder of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the files below a folder whose names end with `.` and `extension`, except built and hidden ones.
pub(crate) fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.expect("a readable folder").path()) {
        let name = path.file_name().map(|name| name.to_string_lossy());
        if name.is_none_or(|name| name.starts_with('.') || name == "target") {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

pub(crate) fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Returns a file's path from the workspace's folder.
pub(crate) fn short(file: &Path) -> String {
    let path = file.strip_prefix(root()).unwrap_or(file);
    path.display().to_string()
}

/// Returns the blocks of code in Markdown, each with the words after its opening mark.
pub(crate) fn fences(markdown: &str) -> Vec<(String, String)> {
    let mut fences = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in markdown.lines() {
        match (line.trim().strip_prefix("```"), open.take()) {
            (Some(kind), None) => open = Some((kind.to_owned(), String::new())),
            (Some(_), Some(fence)) => fences.push(fence),
            (None, Some((kind, code))) => open = Some((kind, code + line + "\n")),
            (None, None) => {}
        }
    }
    fences
}

impl Crate {
    /// Reads `lib.rs` and the modules below it.
    pub(crate) fn read(folder: &str) -> Self {
        let folder = root().join(folder);
        let mut own = Self {
            modules: BTreeMap::new(),
        };
        own.add(&folder.join("lib.rs"), &folder, ModulePath::new(), false);
        own
    }

    /// Returns the public names of a module. One name may be that of a function and of a module.
    pub(crate) fn exports(&self, module: &[String]) -> Vec<(String, Place<'_>)> {
        let mut found = Vec::new();
        for item in &self.modules[module].items {
            match item {
                Item::Use(item) if is_public(&item.vis) && is_seen(&item.attrs) => {
                    for (name, path) in leaves(&item.tree) {
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

    /// Returns what `pub use path as name` exports; for a glob, the names of the other module.
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

    /// Returns the module that a path leads to.
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
        self.modules
            .get(&at)
            .is_some_and(|found| !found.is_hidden)
            .then_some(at)
    }

    /// Returns what a path means in a module; nothing if that is not in the sources of this crate.
    fn resolve(&self, module: &[String], path: &[String]) -> Vec<Place<'_>> {
        let Some((name, parents)) = path.split_last() else {
            return Vec::new();
        };
        let Some(parent) = self.walk(module, parents) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for item in &self.modules[&parent].items {
            if let Item::Use(item) = item {
                let leaves = leaves(&item.tree);
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

    /// Returns every impl with its module.
    pub(crate) fn impls(&self) -> impl Iterator<Item = (&ModulePath, &ItemImpl)> {
        let seen = self.modules.iter().filter(|(_, module)| !module.is_hidden);
        let all = seen.flat_map(|(path, module)| module.items.iter().map(move |item| (path, item)));
        all.filter_map(|(path, item)| match item {
            Item::Impl(item) if is_seen(&item.attrs) => Some((path, item)),
            _ => None,
        })
    }

    /// Returns the modules that define a type or a trait of this name.
    pub(crate) fn homes(&self, name: &str) -> Vec<&ModulePath> {
        let defines = |items: &[Item]| {
            let mut heads = items
                .iter()
                .filter(|item| !matches!(item, Item::Mod(_) | Item::Fn(_)))
                .filter_map(head);
            heads.any(|(own, ..)| own == name)
        };
        let seen = self.modules.iter().filter(|(_, module)| !module.is_hidden);
        let homes = seen.filter(|(_, module)| defines(&module.items));
        homes.map(|(path, _)| path).collect()
    }

    fn add(&mut self, file: &Path, folder: &Path, path: ModulePath, is_hidden: bool) {
        let parsed = syn::parse_file(&text(file));
        let parsed = parsed.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.insert(parsed, file, folder, path, is_hidden);
    }

    fn insert(
        &mut self,
        parsed: syn::File,
        file: &Path,
        folder: &Path,
        path: ModulePath,
        is_hidden: bool,
    ) {
        for item in &parsed.items {
            let Item::Mod(inner) = item else { continue };
            if is_for_tests(&inner.attrs) {
                continue;
            }
            let is_hidden = is_hidden || !is_seen(&inner.attrs);
            let name = inner.ident.to_string();
            let path = [&path[..], std::slice::from_ref(&name)].concat();
            let below = folder.join(&name);
            match &inner.content {
                Some((_, items)) => {
                    let parsed = syn::File {
                        shebang: None,
                        frontmatter: None,
                        attrs: Vec::new(),
                        items: items.clone(),
                    };
                    self.insert(parsed, file, &below, path, is_hidden);
                }
                None => self.add(&file_of(&below), &below, path, is_hidden),
            }
        }
        let file = file.to_owned();
        let module = Module {
            items: parsed.items,
            attributes: parsed.attrs,
            file,
            is_hidden,
        };
        self.modules.insert(path, module);
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

/// Returns the place of an item in the module that defines it.
fn own<'a>(module: &[String], name: &Ident, item: &'a Item) -> Place<'a> {
    match item {
        Item::Mod(_) => Place::Module([module, &[name.to_string()]].concat()),
        item => Place::Item(module.to_vec(), item),
    }
}

/// Returns the names that a `use` imports, each with its path; a glob is the name `*` with the path before it.
pub(crate) fn leaves(tree: &UseTree) -> Vec<(String, Vec<String>)> {
    let mut leaves = Vec::new();
    add_leaves(tree, &mut Vec::new(), &mut leaves);
    leaves
}

fn add_leaves(tree: &UseTree, path: &mut Vec<String>, leaves: &mut Vec<(String, Vec<String>)>) {
    let with = |path: &[String], last: &Ident| match path {
        [.., before] if last == "self" => (before.clone(), path.to_vec()),
        _ => (last.to_string(), [path, &[last.to_string()]].concat()),
    };
    match tree {
        UseTree::Path(inner) => {
            path.push(inner.ident.to_string());
            add_leaves(&inner.tree, path, leaves);
            path.pop();
        }
        UseTree::Name(name) => leaves.push(with(path, &name.ident)),
        UseTree::Rename(name) => leaves.push((name.rename.to_string(), with(path, &name.ident).1)),
        UseTree::Glob(_) => leaves.push(("*".to_owned(), path.clone())),
        UseTree::Group(group) => group
            .items
            .iter()
            .for_each(|tree| add_leaves(tree, path, leaves)),
    }
}

/// Returns the name, visibility and attributes of an item that has a name.
pub(crate) fn head(item: &Item) -> Option<(&Ident, &Visibility, &[Attribute])> {
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

pub(crate) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Returns whether an item is neither for tests alone nor hidden.
pub(crate) fn is_seen(attributes: &[Attribute]) -> bool {
    !is_for_tests(attributes) && !has(attributes, "doc", "hidden")
}

/// Returns whether an item is compiled for tests alone.
pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    has(attributes, "cfg", "test")
}

fn has(attributes: &[Attribute], name: &str, inside: &str) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else {
            return false;
        };
        list.path.is_ident(name) && list.tokens.to_string() == inside
    })
}
