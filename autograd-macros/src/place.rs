//! Looks at the source file around an item, for what its tokens do not show: another item of its name, another type of
//! the name that the short form makes, a block whose method it is, of which the compiler would report many generated
//! items; the types with tensors in their fields, of which it would report nothing; and the constants and functions that
//! formulas name.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Data, DeriveInput, Field, ItemFn, Type};

use crate::constants::Constants;
use crate::lists::Lists as _;
use crate::model::Beside;
use crate::parse::{self, Item};
use crate::spell::{camel_case, for_each_word, group, has_word, is_mark, is_word};
use crate::types::{Form, array, inner_types, is_container, last_segment};

/// The place of an item.
#[derive(Default)]
pub(crate) struct Place {
    pub(crate) mistake: Option<Mistake>,
    /// The elementwise functions beside it.
    pub(crate) elementwise: Vec<String>,
    /// The types beside it that have fields with tensors.
    pub(crate) holders: Vec<String>,
    /// The constants beside it, if it is a formula.
    pub(crate) constants: Constants,
    /// The functions beside a formula that it calls, and those that these call.
    pub(crate) functions: Vec<Beside>,
}

/// A mistake that the place of an item shows.
pub(crate) enum Mistake {
    /// An item of this name comes before.
    Repeated(TokenStream),
    /// A function in the short form makes a type whose name is taken.
    Taken(Taken),
    /// The function is a method.
    Method { of_a_trait: bool },
}

/// The way in which a type's name is taken.
pub(crate) enum Taken {
    /// By the type that another function makes.
    Made(String),
    Defined,
    Imported,
}

/// The items that this process has expanded, by the names of their types. A name that occurs again may be that of an
/// item in another module of the file, so the tokens of the file are searched then.
static EXPANDED: Mutex<BTreeSet<(PathBuf, String)>> = Mutex::new(BTreeSet::new());

/// The names of the functions that a block may have: they name no other item of the file.
const ROLES: [&str; 3] = ["forward", "backward", "jvp"];

/// The text of a file, with its words. They are found once for all items of a file: compilers run macros without
/// optimization, and a file with many items is long.
struct Source {
    text: String,
    words: HashSet<String>,
    /// The names of the functions and types that it defines.
    defined: HashSet<String>,
    /// Those of its constants.
    constants: HashSet<String>,
}

impl Source {
    /// Reads a file, or returns what was read if it has not changed since.
    fn read(file: &Path) -> Option<Arc<Self>> {
        static LAST: Mutex<Option<(PathBuf, Arc<Source>)>> = Mutex::new(None);
        let text = fs::read_to_string(file).ok()?;
        let mut last = LAST.lock().ok()?;
        if let Some((path, source)) = &*last
            && path == file
            && source.text == text
        {
            return Some(Arc::clone(source));
        }
        let source = Arc::new(Self {
            words: words(&text).map(str::to_owned).collect(),
            defined: defined(&text, &["fn ", "struct ", "enum "]),
            constants: defined(&text, &["const "]),
            text,
        });
        *last = Some((file.to_owned(), Arc::clone(&source)));
        Some(source)
    }
}

/// The attribute that is put above the item, to find it in its file.
const HERE: &str = "__pullback_here";

/// Returns the place of an item whose attribute begins at a line and a column of a file.
pub(crate) fn of(item: &TokenStream, file: &Path, at: (usize, usize)) -> Place {
    let tokens = item.clone().into_iter().listed();
    let place = Named::read(&tokens).and_then(|item| item.place(file, at));
    place.unwrap_or_default()
}

/// Returns a text with the attribute at this place, if one begins there.
fn marked(text: &str, (line, column): (usize, usize)) -> Option<String> {
    let before = line.checked_sub(1)?;
    let lines = text.split_inclusive('\n').take(before).map(str::len);
    let start = lines.sum::<usize>();
    let (offset, _) = text
        .get(start..)?
        .char_indices()
        .nth(column.checked_sub(1)?)?;
    let (above, below) = text.split_at(start + offset);
    let is_attribute = below.starts_with('#');
    is_attribute.then(|| format!("{above}#[{HERE}]{below}"))
}

/// A function or a block without its attributes.
struct Named<'a> {
    /// `impl Linear`, or `fn linear`.
    name: &'a [TokenTree],
    whole: &'a [TokenTree],
    /// The name of its type.
    ty: String,
}

impl<'a> Named<'a> {
    /// Reads the first function or block among the tokens.
    fn read(tokens: &'a [TokenTree]) -> Option<Self> {
        let is_start = |token| is_word(token, "fn") || is_word(token, "impl");
        let item = &tokens[tokens.iter().position(is_start)?..];
        let is_body = |token| group(token, Delimiter::Brace).is_some();
        let body = item.iter().position(is_body)?;
        let name = if is_word(&item[0], "fn") { 2 } else { body };
        let whole = &item[..=body];
        // The name is in the head, and the body is long.
        let empty = Group::new(Delimiter::Brace, TokenStream::new());
        let mut head = item[..body].to_vec();
        head.push(empty.into());
        let ty = match parsed(&head)? {
            Item::Function(function) => camel_case(&function.sig.ident, &function.sig.generics),
            Item::Impl(block) => last_segment(&block.self_ty)?.ident.clone(),
            Item::Unfinished | Item::Other(_) => return None,
        };
        Some(Self {
            name: item.get(..name)?,
            whole,
            ty: ty.to_string(),
        })
    }

    fn is_function(&self) -> bool {
        is_word(&self.whole[0], "fn")
    }

    /// Returns whether it may be a formula, whose numbers are of a type parameter bound by `Real`.
    fn is_formula(&self) -> bool {
        self.is_function() && has_word(self.whole.iter().tokens(), "Real")
    }

    fn place(&self, file: &Path, at: (usize, usize)) -> Option<Place> {
        let key = (file.to_owned(), self.ty.clone());
        let is_first = EXPANDED.lock().ok()?.insert(key);
        let source = Source::read(file)?;
        // Most files are not taken apart: nothing in them has the name of the function's type, and the item names none of
        // the other functions and types that they define.
        let is_taken = self.is_function() && (at.1 > 1 || source.words.contains(&self.ty));
        let (mut own, mut named, mut is_definition) = (HashSet::new(), HashSet::new(), false);
        let mut names_what_is_read = false;
        for_each_word(self.whole.iter().tokens(), &mut |word| {
            let word = word.to_string();
            let is_constant = !["fn", "_"].contains(&&*word) && source.constants.contains(&word);
            // `Cdf::formula`, of a function `cdf`.
            names_what_is_read |= is_constant || word == "formula";
            let is_keyword = ["fn", "struct", "enum"].contains(&&*word);
            if is_definition {
                own.insert(word);
            } else if source.defined.contains(&word) {
                named.insert(word);
            }
            is_definition = is_keyword;
        });
        let is_other = |word: &String| *word != self.ty && !ROLES.contains(&&**word);
        let names_one = named.difference(&own).any(is_other);
        let is_more_read = names_what_is_read && self.is_formula();
        if is_first && !is_taken && !names_one && !is_more_read {
            return None;
        }
        // A byte order mark is not a token.
        let text = source.text.trim_start_matches('\u{feff}');
        self.place_in(marked(text, at)?.parse().ok()?, &Around::default())
    }

    /// Returns its place in a file, or in a group of the item around it.
    fn place_in(&self, tokens: TokenStream, around: &Around<'_>) -> Option<Place> {
        let tokens = tokens.into_iter().listed();
        let neighbors = neighbors(&tokens);
        if let Some(own) = neighbors.iter().position(|neighbor| neighbor.has(HERE)) {
            return Some(self.place_among(&neighbors, own, around));
        }
        neighbors.iter().find_map(|neighbor| {
            let item = neighbor.item;
            let mut groups = item.iter().enumerate();
            groups.find_map(|(place, token)| {
                let TokenTree::Group(group) = token else {
                    return None;
                };
                let is_of_a_macro = item[..place].iter().any(|token| is_mark(token, '!'));
                let around = Around {
                    item: Some(item),
                    may_change: around.may_change || is_of_a_macro || !neighbor.leaves(&AROUND),
                };
                self.place_in(group.stream(), &around)
            })
        })
    }

    fn place_among(&self, neighbors: &[Neighbor<'_>], own: usize, around: &Around<'_>) -> Place {
        let (before, after) = neighbors.split_at(own);
        let found = Named::read(after[0].item);
        let is_found = found.is_some_and(|found| text(found.name) == text(self.name));
        let (constants, functions) = if is_found && !around.may_change && self.is_formula() {
            let items = neighbors.iter().filter_map(Neighbor::always_compiled);
            (Constants::among(items), self.functions(neighbors))
        } else {
            Default::default()
        };
        let is_always_compiled = !after[0].has("cfg");
        let repeated = || {
            let has_its_name = |named: Named<'_>| text(named.name) == text(self.name);
            let is_repeated = before.iter().filter_map(Neighbor::named).any(has_its_name);
            is_repeated.then(|| Mistake::Repeated(self.name.iter().tokens()))
        };
        let taken = || {
            let others = before.iter().chain(&after[1..]);
            Some(Mistake::Taken(self.taken(before, others)?))
        };
        let of_names = || repeated().or_else(taken).filter(|_| is_always_compiled);
        Place {
            mistake: around.item.and_then(method).or_else(of_names),
            elementwise: neighbors.iter().filter_map(Neighbor::elementwise).listed(),
            holders: neighbors.iter().filter_map(Neighbor::holder).listed(),
            constants,
            functions,
        }
    }

    /// Returns the functions that it calls, and those that these call.
    fn functions(&self, neighbors: &[Neighbor<'_>]) -> Vec<Beside> {
        let mut functions = Vec::new();
        let mut tokens = self.whole.iter().tokens();
        let mut candidates = neighbors.iter().filter_map(Neighbor::function).listed();
        let mut words = HashSet::new();
        while !tokens.is_empty() {
            for_each_word(std::mem::take(&mut tokens), &mut |word| {
                words.insert(word.to_string());
            });
            candidates.retain(|(path, item)| {
                let name = path.split(':').next().unwrap_or_default();
                let is_named = words.contains(name);
                let item = || item.iter().tokens();
                if is_named && let Ok(function) = syn::parse2::<ItemFn>(item()) {
                    tokens.extend(function.to_token_stream());
                    let path = path.clone();
                    functions.push(Beside { path, function });
                }
                !is_named
            });
        }
        functions
    }

    /// Returns how the name of the type that it makes is taken, by something `before` it or by any of the `others`.
    fn taken<'b>(
        &self,
        before: &[Neighbor<'_>],
        others: impl Iterator<Item = &'b Neighbor<'b>>,
    ) -> Option<Taken> {
        if !self.is_function() {
            return None;
        }
        let makes_it = |named: &Named<'_>| named.is_function() && named.ty == self.ty;
        let made = before.iter().filter_map(Neighbor::named).find(makes_it);
        if let Some(made) = made {
            return Some(Taken::Made(made.name[1].to_string()));
        }
        others
            .filter(|other| !other.has("cfg"))
            .find_map(|other| takes(other.item, &self.ty))
    }
}

/// What is around an item.
#[derive(Default)]
struct Around<'a> {
    /// The item around it, if it is not in the file itself.
    item: Option<&'a [TokenTree]>,
    /// Whether a macro has it, which may change it and what is beside it.
    may_change: bool,
}

/// An item of a file, or another piece of one, after its attributes.
struct Neighbor<'a> {
    attributes: Vec<TokenTree>,
    item: &'a [TokenTree],
}

/// The words of attributes, outside of parentheses, that leave a function as it is written.
#[rustfmt::skip]
const AS_WRITTEN: [&str; 11] = [
    "allow", "cold", "deny", "doc", "expect", "forbid", "inline", "must_use", "rustfmt", "skip", "warn",
];

/// Those that leave what is in an item as it is written, if it is compiled.
const AROUND: [&str; 3] = ["cfg", "macro_use", "test"];

impl Neighbor<'_> {
    /// Returns whether its attributes leave it as it is written, with these `others`.
    fn leaves(&self, others: &[&str]) -> bool {
        let names = AS_WRITTEN.iter().chain(others);
        self.attributes.iter().all(|token| match token {
            TokenTree::Ident(word) => names.clone().any(|name| word == name),
            _ => true,
        })
    }

    fn has(&self, word: &str) -> bool {
        self.attributes.iter().any(|token| is_word(token, word))
    }

    /// Returns the item, if no condition may leave it out.
    fn always_compiled(&self) -> Option<&[TokenTree]> {
        let is_conditional = self.has("cfg") || self.has("cfg_attr");
        (!is_conditional).then_some(self.item)
    }

    /// Returns the function or the block, if it is one of ours that is always compiled.
    fn named(&self) -> Option<Named<'_>> {
        let is_ours = self.has("custom_function") && !self.has("cfg");
        is_ours.then(|| Named::read(self.item)).flatten()
    }

    /// Returns how a function is called, and its tokens, if it is as it is written: no attribute makes another one of it,
    /// but ours of a formula whose derivatives are its own.
    fn function(&self) -> Option<(String, &[TokenTree])> {
        let is_formula = self.elementwise().is_some();
        let others: &[&str] = if is_formula {
            &["custom_function", "pullback"]
        } else {
            &[]
        };
        let is_as_written = self.leaves(others);
        let path = if is_formula {
            let attributes = self.attributes.iter().tokens();
            let has_own = has_word(attributes, "grad");
            format!("{}::formula", self.named().filter(|_| !has_own)?.ty)
        } else {
            let name = self.item.iter().position(|token| is_word(token, "fn"))? + 1;
            self.item.get(name)?.to_string()
        };
        is_as_written.then_some((path, self.item))
    }

    /// Returns the name of an elementwise function.
    fn elementwise(&self) -> Option<String> {
        let arguments = self.attributes.iter().tokens();
        let mut is_elementwise = false;
        for_each_word(arguments, &mut |word| {
            is_elementwise |= word == "elementwise";
        });
        let named = self
            .named()
            .filter(|named| is_elementwise && named.is_function())?;
        Some(named.name[1].to_string())
    }

    /// Returns the name of a type that has a field with a tensor, as far as the tokens of the fields show.
    fn holder(&self) -> Option<String> {
        let item: DeriveInput = syn::parse2(self.item.iter().tokens()).ok()?;
        let fields: Vec<Field> = match item.data {
            Data::Struct(data) => data.fields.into_iter().listed(),
            Data::Enum(data) => data
                .variants
                .into_iter()
                .flat_map(|one| one.fields)
                .collect(),
            Data::Union(_) => return None,
        };
        let holds = fields.iter().any(|field| holds_tensor(&field.ty));
        holds.then(|| item.ident.to_string())
    }
}

fn holds_tensor(ty: &Type) -> bool {
    let is_tensor = array(ty).is_some_and(|array| array.form != Form::Owned);
    let last = last_segment(ty).map(|last| last.ident.to_string());
    let is_state = last.is_some_and(|last| ["Parameter", "Buffer"].contains(&&*last));
    is_tensor || is_state || is_container(ty) && inner_types(ty).into_iter().any(holds_tensor)
}

/// Takes tokens apart: each piece ends with braces or a semicolon.
fn neighbors(tokens: &[TokenTree]) -> Vec<Neighbor<'_>> {
    let mut neighbors = Vec::new();
    let (mut attributes, mut start) = (Vec::new(), 0);
    for (place, token) in tokens.iter().enumerate() {
        let is_attribute = place > start && is_mark(&tokens[place - 1], '#');
        if let Some(attribute) = group(token, Delimiter::Bracket).filter(|_| is_attribute) {
            attributes.extend(attribute.stream());
            start = place + 1;
        } else if group(token, Delimiter::Brace).is_some()
            || is_mark(token, ';')
            || place + 1 == tokens.len()
        {
            let attributes = std::mem::take(&mut attributes);
            let item = &tokens[start..=place];
            neighbors.push(Neighbor { attributes, item });
            start = place + 1;
        }
    }
    neighbors
}

/// Returns what the members of an item are, if they are methods.
fn method(item: &[TokenTree]) -> Option<Mistake> {
    let of_a_trait = match parsed(item)? {
        Item::Impl(block) => block.trait_.is_some(),
        Item::Other(keyword) if keyword == "trait" => true,
        _ => return None,
    };
    Some(Mistake::Method { of_a_trait })
}

/// Returns how an item takes the name of a type, if it does.
fn takes(item: &[TokenTree], ty: &str) -> Option<Taken> {
    const TYPES: [&str; 5] = ["struct", "enum", "union", "trait", "type"];
    let Item::Other(keyword) = parsed(item)? else {
        return None;
    };
    if keyword == "use" {
        return imports(item.iter().tokens(), ty).then_some(Taken::Imported);
    }
    let place = item
        .iter()
        .position(|token| is_word(token, &keyword.to_string()))?;
    let is_it = is_word(item.get(place + 1)?, ty);
    (is_it && TYPES.iter().any(|ty| keyword == ty)).then_some(Taken::Defined)
}

/// Returns whether imports bind a name: it is the last segment of a path, or after `as`.
fn imports(tokens: TokenStream, name: &str) -> bool {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_last = tokens
            .peek()
            .is_none_or(|next| is_mark(next, ',') || is_mark(next, ';'));
        let is_bound = match &token {
            TokenTree::Group(group) => imports(group.stream(), name),
            token => is_last && is_word(token, name),
        };
        if is_bound {
            return true;
        }
    }
    false
}

fn parsed(tokens: &[TokenTree]) -> Option<Item> {
    parse::item(tokens.iter().tokens()).ok()
}

/// Returns the words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
}

/// Returns the names of what a text defines with these keywords.
fn defined(text: &str, keywords: &[&str]) -> HashSet<String> {
    let after = keywords
        .iter()
        .flat_map(|keyword| text.split(keyword).skip(1));
    let names = after.filter_map(|after| words(after).next());
    names.map(str::to_owned).collect()
}

/// Returns the text of tokens, the same for tokens of a file and of the compiler: spaces between any two, and comments
/// as attributes.
fn text(tokens: &[TokenTree]) -> String {
    let word = |token: &TokenTree| match token {
        TokenTree::Group(group) => {
            let inside = group.stream().into_iter().listed();
            format!("{:?} {} end", group.delimiter(), text(&inside))
        }
        token => token.to_string(),
    };
    let words = tokens.iter().map(word).listed();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    /// Returns the mistake in the place of an item in a file, where it is marked.
    fn mistake(item: &TokenStream, file: TokenStream) -> Option<&'static str> {
        let tokens = item.clone().into_iter().listed();
        let place = Named::read(&tokens)
            .unwrap()
            .place_in(file, &Around::default());
        Some(match place.expect("the marked item").mistake? {
            Mistake::Repeated(_) => "repeated",
            Mistake::Taken(Taken::Made(_)) => "made",
            Mistake::Taken(Taken::Defined) => "defined",
            Mistake::Taken(Taken::Imported) => "imported",
            Mistake::Method { of_a_trait: false } => "method",
            Mistake::Method { of_a_trait: true } => "method of a trait",
        })
    }

    #[test]
    fn the_attribute_is_found_by_its_line_and_column() {
        let text = "use a;\r\n\tπ #[f]\n#[g]";
        let marked = |line, column| marked(text, (line, column));
        let here = |before: &str, after: &str| Some(format!("{before}#[{HERE}]{after}"));
        assert_eq!(marked(2, 4), here("use a;\r\n\tπ ", "#[f]\n#[g]"));
        assert_eq!(marked(3, 1), here("use a;\r\n\tπ #[f]\n", "#[g]"));
        assert_eq!(
            [marked(1, 1), marked(4, 1), marked(3, 9), marked(0, 0)],
            [const { None }; 4]
        );
    }

    #[test]
    fn only_neighbors_are_twice() {
        let square = quote! {
            /// Returns x².
            #[pullback::custom_function(gradcheck(x = [3]))]
            #[inline]
            pub fn square(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
        };
        let cube = quote!(
            #[custom_function]
            impl<T: Element> Cube<T> {
                fn forward() {}
            }
        );
        let other = quote!(
            #[custom_function]
            impl<T: Element> Cube<T> {
                fn forward(x: u8) {}
            }
        );
        let of_others = quote!(
            #[custom_function]
            impl Cube<f64> {}
        );
        let here = quote!(#[__pullback_here]);
        let cases = [
            (quote!(#square #here #cube), None),
            (quote!(#cube #here #cube), Some("repeated")),
            (quote!(#other #here #cube), Some("repeated")),
            (quote!(#of_others #here #cube), None),
            (quote!(#here #cube #other), None),
            (quote!(mod a { #other #other } #here #cube), None),
            (
                quote!(mod a { #cube #square #here #cube }),
                Some("repeated"),
            ),
            (quote!(mod a { #cube } mod b { #here #cube }), None),
            (quote!(fn a() { #cube } #here #cube), None),
            (quote!(#[cfg(a)] #cube #here #[cfg(not(a))] #cube), None),
            (
                quote!(fn square() {} impl<T: Element> Cube<T> {} #here #cube),
                None,
            ),
        ];
        for (file, expected) in cases {
            assert_eq!(mistake(&cube, file.clone()), expected, "{file}");
        }
    }

    #[test]
    fn the_name_of_the_type_is_taken_beside_the_function() {
        let item = quote!(
            #[custom_function]
            fn mul_add(x: u8) {}
        );
        let here = quote!(#[__pullback_here] #item);
        let cases = [
            (quote!(struct MulAdd; #here), Some("defined")),
            (quote!(#here pub(crate) enum MulAdd { A }), Some("defined")),
            (quote!(mod a { struct MulAdd; } #here), None),
            (quote!(#[cfg(a)] struct MulAdd; #here), None),
            (
                quote!(struct Of(MulAdd); fn f() -> MulAdd { MulAdd } #here),
                None,
            ),
            (quote!(use a::{b, MulAdd}; #here), Some("imported")),
            (
                quote!(use a::{b::{B as MulAdd}, c}; #here),
                Some("imported"),
            ),
            (quote!(use MulAdd::{A}; use a::MulAdd as B; #here), None),
            (
                quote!(#[custom_function] fn mulAdd() {} #here),
                Some("made"),
            ),
            (
                quote!(#[custom_function] fn mul__add() {} #here),
                Some("made"),
            ),
            (quote!(#here #[custom_function] fn mul__add() {}), None),
            (
                quote!(struct MulAdd; #[custom_function] impl MulAdd {} #here),
                Some("defined"),
            ),
            (quote!(mod a { #here } mod b { struct MulAdd; #item }), None),
        ];
        for (file, expected) in cases {
            assert_eq!(mistake(&item, file.clone()), expected, "{file}");
        }
    }

    #[test]
    fn types_with_tensors_are_found_by_their_fields() {
        let item = quote!(
            #[custom_function]
            impl Cell {}
        );
        let tokens = item.clone().into_iter().listed();
        let file = quote! {
            pub struct Weights<T> { a: f64, pub b: Vec<Option<Tensor2<T>>> }
            struct Layer(Parameter<f64, Ix1>);
            enum Either { One, Two { x: &'static Tensor1<f64> } }
            struct Data { table: Array1<f64>, of: PhantomData<Tensor1<f64>>, f: fn(&Tensor1<f64>) }
            mod other { struct Hidden(Tensor1<f64>); }
            #[__pullback_here] #item
        };
        let place = Named::read(&tokens)
            .unwrap()
            .place_in(file, &Around::default());
        assert_eq!(place.unwrap().holders, ["Weights", "Layer", "Either"]);
    }

    #[test]
    fn constants_are_those_beside_it() {
        let item = quote!(
            #[custom_function(elementwise)]
            fn sum<T: Real>(x: [T; N]) -> T {}
        );
        let tokens = item.clone().into_iter().listed();
        let here = quote!(#[__pullback_here] #item);
        for (file, expected) in [
            (
                quote!(/** A length. */ pub const N: usize = 3; #here),
                Some(3),
            ),
            (
                quote!(use a::b; #here mod c {} const N: usize = 2 * M; const M: usize = 4;),
                Some(8),
            ),
            (
                quote!(const N: usize = 2; mod a { #here const N: usize = 5; }),
                Some(5),
            ),
            (quote!(const N: usize = 2; mod a { #here }), None),
            (
                quote!(#[cfg(a)] const N: usize = 2; #[cfg(not(a))] const N: usize = 3; #here),
                None,
            ),
            (
                quote!(#[cfg_attr(a, cfg(b))] const N: usize = 2; #here),
                None,
            ),
            (quote!(a! { const N: usize = 2; #here }), None),
        ] {
            let place = Named::read(&tokens)
                .unwrap()
                .place_in(file.clone(), &Around::default());
            let constants = place.unwrap().constants;
            assert_eq!(constants.whole(&syn::parse_quote!(N)), expected, "{file}");
        }
    }

    #[test]
    fn functions_are_those_that_a_formula_calls() {
        let item = quote!(
            #[custom_function(elementwise)]
            fn sum<T: Real>(x: T) -> T {
                first(x) + T::exp(x)
            }
        );
        let tokens = item.clone().into_iter().listed();
        let file = quote! {
            /// Calls another one.
            #[inline(always)]
            #[allow(clippy::all)]
            pub(crate) fn first<T: Real>(x: T) -> T { second(Half::formula(x) + Given::formula(x)) }
            #[pullback::custom_function(elementwise(order = 3))]
            fn half<T: Real>(x: T) -> T { x / 2.0 }
            #[custom_function(elementwise, grad(x) = 1.0)]
            fn given<T: Real>(x: T) -> T { x }
            fn unused<T: Real>(x: T) -> T { x }
            #[__pullback_here] #item
            fn second<T: Real>(x: T) -> T { third(x) + fourth(x) + first(x) + inner(x) }
            #[cfg(a)]
            fn third<T: Real>(x: T) -> T { x }
            #[memoize]
            fn fourth<T: Real>(x: T) -> T { x }
            mod other { fn inner<T: Real>(x: T) -> T { x } }
        };
        let place = Named::read(&tokens)
            .unwrap()
            .place_in(file, &Around::default());
        let functions = place.unwrap().functions.into_iter();
        let paths = functions.map(|beside| beside.path).listed();
        assert_eq!(paths, ["first", "Half::formula", "second"]);
        // A macro may change what it has.
        let beside = quote!(fn first<T: Real>(x: T) -> T { x } #[__pullback_here] #item);
        for (file, count) in [
            (quote!(#[cfg(test)] mod a { #beside }), 1),
            (quote!(#[test] fn a() -> u8 { 1; { #beside } }), 1),
            (quote!(a! { #beside }), 0),
            (
                quote!(
                    macro_rules! a { () => { #beside } }
                ),
                0,
            ),
            (quote!(#[a] mod b { mod c { #beside } }), 0),
            (quote!(#[cfg_attr(a, b)] mod c { #beside }), 0),
            (
                quote!(
                    fn first<T: Real>(x: T) -> T {
                        x
                    }
                    #[__pullback_here]
                    fn other() {}
                ),
                0,
            ),
        ] {
            let place = Named::read(&tokens)
                .unwrap()
                .place_in(file.clone(), &Around::default());
            assert_eq!(place.unwrap().functions.len(), count, "{file}");
        }
    }

    #[test]
    fn a_method_is_in_a_block() {
        let item = quote!(
            #[custom_function]
            fn twice(x: u8) {}
        );
        let here = quote!(#[__pullback_here] #item);
        let cases = [
            (quote!(impl Ops { #here }), Some("method")),
            (
                quote!(impl Ops for Cpu { const A: u8 = 1; #here }),
                Some("method of a trait"),
            ),
            (
                quote!(pub trait Ops { fn f(); #here }),
                Some("method of a trait"),
            ),
            (quote!(fn f() -> impl Ops { #here }), None),
            (quote!(mod a { #here }), None),
        ];
        for (file, expected) in cases {
            assert_eq!(mistake(&item, file.clone()), expected, "{file}");
        }
    }
}
