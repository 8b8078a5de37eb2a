//! The names that the modules of a crate use, and the modules that define them.
//!
//! A name that a `mod.rs` re-exports from a file below it is resolved to that file: re-exports are doors, and do not
//! make a module depend on what it exports. Code for tests may use anything.

use std::collections::BTreeSet;

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Expr, ExprUnsafe, ImplItem, Item, ItemForeignMod, ItemImpl, ItemMod, ItemTrait,
    ItemUse, Safety, Signature, Token, Visibility,
};

use crate::sources::{Crate, ModulePath, head, is_for_tests, leaves};

/// One path in the code of a module that leads to another module of the crate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Import {
    /// The module with the path in its code.
    pub(super) from: ModulePath,
    pub(super) path: Vec<String>,
    /// The module that defines the name, or that the path names.
    pub(super) home: ModulePath,
    /// The module at the crate's root that the path begins with, if the path is written from the root.
    pub(super) door: Option<String>,
    /// Whether the path takes a re-export of `lib.rs` in place of a module's own name.
    pub(super) is_through_root: bool,
    pub(super) is_reexport: bool,
    /// Whether the path names the module itself: `use crate::parse;`.
    pub(super) is_of_module: bool,
}

/// Returns the imports of a crate that calls itself `name`.
pub(super) fn of(of: &Crate, name: &str) -> BTreeSet<Import> {
    let mut found = BTreeSet::new();
    for (path, module) in &of.modules {
        let names = Names { of, own: name };
        for (path_used, is_reexport) in Used::by(&module.items).paths {
            found.extend(names.import(path, path_used, is_reexport));
        }
    }
    found
}

/// The paths in the items of one module, with whether a `pub use` has them.
#[derive(Default)]
pub(super) struct Used {
    pub(super) paths: BTreeSet<(Vec<String>, bool)>,
    /// Whether there is an `unsafe` block, function, trait or impl.
    pub(super) has_unsafe: bool,
}

impl Used {
    pub(super) fn by(items: &[Item]) -> Self {
        let mut used = Self::default();
        for item in items {
            used.visit_item(item);
        }
        used
    }

    fn add(&mut self, path: Vec<String>) {
        self.paths.insert((path, false));
    }
}

impl<'ast> Visit<'ast> for Used {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Macro(item) => &item.attrs,
            item => head(item).map_or(&[], |(.., attributes)| attributes),
        };
        if !is_for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !matches!(item, ImplItem::Fn(method) if is_for_tests(&method.attrs)) {
            visit::visit_impl_item(self, item);
        }
    }

    /// A module inside of a file is looked at by itself.
    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_reexport = !matches!(item.vis, Visibility::Inherited);
        for (name, path) in leaves(&item.tree) {
            if name != "*" {
                self.paths.insert((path, is_reexport));
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let names = path.segments.iter();
            self.add(names.map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    /// Reads the tokens of a macro as expressions, or else word by word.
    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        visit::visit_macro(self, item);
        let expressions = item.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
        if let Ok(expressions) = expressions {
            for expression in &expressions {
                self.visit_expr(expression);
            }
            return;
        }
        let text = item.tokens.to_string().replace(" :: ", "::");
        let opens = |word: &str| text.contains(&format!("unsafe {word}"));
        self.has_unsafe |= ["{", "fn", "impl"].into_iter().any(opens);
        let is_of_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        for word in text.split(|c| !is_of_word(c)) {
            if word.contains("::") && !word.starts_with(':') {
                self.add(word.split("::").map(str::to_owned).collect());
            }
        }
    }

    fn visit_expr_unsafe(&mut self, item: &'ast ExprUnsafe) {
        self.has_unsafe = true;
        visit::visit_expr_unsafe(self, item);
    }

    fn visit_signature(&mut self, item: &'ast Signature) {
        self.has_unsafe |= matches!(item.safety, Safety::Unsafe(_));
        visit::visit_signature(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        self.has_unsafe |= item.unsafety.is_some();
        visit::visit_item_impl(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.has_unsafe |= item.unsafety.is_some();
        visit::visit_item_trait(self, item);
    }

    fn visit_item_foreign_mod(&mut self, item: &'ast ItemForeignMod) {
        self.has_unsafe = true;
        visit::visit_item_foreign_mod(self, item);
    }
}

/// Finds the definitions of names.
struct Names<'a> {
    of: &'a Crate,
    /// The crate's name for itself.
    own: &'a str,
}

enum Found {
    Module(ModulePath),
    /// An item, in the module that defines it.
    Item(ModulePath),
}

impl Names<'_> {
    fn import(&self, from: &[String], path: Vec<String>, is_reexport: bool) -> Option<Import> {
        let (at, rest) = self.start(from, &path);
        let is_written_out = rest.len() < path.len();
        let is_module = |name: &String| self.of.modules.contains_key(&[name.clone()][..]);
        let is_at_root = is_written_out && at.is_empty() && !from.is_empty();
        let (home, is_of_module) = match self.follow(&at, rest, &mut Vec::new())? {
            // `self`, or the path in `pub(super)`.
            Found::Module(home) if from.starts_with(&home) => return None,
            Found::Module(home) => (home, true),
            Found::Item(home) => (home, false),
        };
        let begins_with_module = rest.first().is_some_and(is_module);
        let is_through_root =
            is_at_root && !begins_with_module && !is_of_module && !home.is_empty();
        let first = at.first().or(rest.first()).filter(|_| is_written_out);
        Some(Import {
            from: from.to_vec(),
            door: first.filter(|first| is_module(first)).cloned(),
            path,
            home,
            is_through_root,
            is_reexport,
            is_of_module,
        })
    }

    /// Returns the module that `crate`, `self` and `super` before a path mean, and the rest of the path.
    fn start<'p>(&self, from: &[String], path: &'p [String]) -> (ModulePath, &'p [String]) {
        let mut at = from.to_vec();
        for (place, segment) in path.iter().enumerate() {
            match segment.as_str() {
                "self" => {}
                "super" => {
                    at.pop();
                }
                name if place == 0 && (name == "crate" || name == self.own) => at.clear(),
                _ => return (at, &path[place..]),
            }
        }
        (at, &[])
    }

    fn follow(
        &self,
        at: &[String],
        path: &[String],
        seen: &mut Vec<(ModulePath, String)>,
    ) -> Option<Found> {
        let Some((name, rest)) = path.split_first() else {
            return Some(Found::Module(at.to_vec()));
        };
        let step = (at.to_vec(), path.join("::"));
        if seen.contains(&step) {
            return None;
        }
        seen.push(step);
        let module = self.of.modules.get(at)?;
        let defines = |item: &Item| match item {
            Item::Macro(item) => makes(&item.mac, name),
            item => head(item).is_some_and(|(own, ..)| own == name),
        };
        let below = [at, std::slice::from_ref(name)].concat();
        if self.of.modules.contains_key(&below) {
            return self.follow(&below, rest, seen);
        }
        if module.items.iter().any(defines) {
            return Some(Found::Item(at.to_vec()));
        }
        let uses = module.items.iter().filter_map(|item| match item {
            Item::Use(item) if !is_for_tests(&item.attrs) => Some(leaves(&item.tree)),
            _ => None,
        });
        for (leaf, path) in uses.flatten() {
            if leaf != *name && leaf != "*" {
                continue;
            }
            let (start, names) = self.start(at, &path);
            let found = match self.follow(&start, names, seen) {
                Some(Found::Module(module)) if leaf == "*" => {
                    self.follow(&module, path_of(name, rest).as_slice(), seen)
                }
                Some(Found::Module(module)) => self.follow(&module, rest, seen),
                Some(Found::Item(home)) if leaf != "*" => Some(Found::Item(home)),
                _ => None,
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// Returns whether a macro is given a definition of this name.
fn makes(item: &syn::Macro, name: &str) -> bool {
    let text = item.tokens.to_string();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).any(|pair| {
        ["struct", "enum", "trait", "fn", "type", "const"].contains(&pair[0])
            && pair[1]
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .next()
                == Some(name)
    })
}

fn path_of(name: &str, rest: &[String]) -> Vec<String> {
    [&[name.to_owned()], rest].concat()
}
