//! Whatever definitions are damaged into, an expansion comes out: never a panic, and never anything
//! that is neither valid Rust nor an error.
//!
//! The definitions are those of the workspace: right ones of the built-in functions, examples and
//! snapshots, wrong ones of `tests/ui`. Tokens of them are deleted, doubled, swapped, replaced by tokens
//! of others, put into brackets and taken out of them. 2,000 inputs are tried, or `PULLBACK_FUZZ` many;
//! the generator is seeded, so that each number gives the same input on every machine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::{env, fs};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::place::Place;
use crate::{module, stages, strip};

#[test]
fn damaged_definitions_are_expanded_or_refused() {
    let definitions = definitions("custom_function");
    assert!(
        definitions.len() > 150,
        "{} definitions are not all",
        definitions.len()
    );
    let pool: Vec<TokenTree> = definitions
        .iter()
        .flat_map(|(args, item)| leaves(args).into_iter().chain(leaves(item)))
        .collect();
    for input in 0..inputs() {
        let mut random = Random(input);
        let (mut args, mut item) = definitions[random.below(definitions.len())].clone();
        for _ in 0..=random.below(4) {
            let damaged = if random.below(3) == 0 && !args.is_empty() {
                &mut args
            } else {
                &mut item
            };
            *damaged = damage(damaged.clone(), &pool, &mut random);
        }
        check(input, &args, &item);
    }
}

#[test]
fn damaged_modules_are_expanded_or_refused() {
    let mut modules = definitions("derive");
    modules.retain(|(derived, _)| derived.to_string().contains("Module"));
    assert!(modules.len() > 40, "{} are not all", modules.len());
    let pool: Vec<TokenTree> = modules.iter().flat_map(|(_, item)| leaves(item)).collect();
    for input in 0..inputs() {
        let mut random = Random(input);
        let (_, mut item) = modules[random.below(modules.len())].clone();
        for _ in 0..=random.below(4) {
            item = damage(item, &pool, &mut random);
        }
        let Ok(expanded) = catch_unwind(AssertUnwindSafe(|| module::unguarded(item.clone())))
        else {
            panic!("a panic on input {input}: {item}");
        };
        // Only items reach a derive.
        if syn::parse2::<syn::DeriveInput>(item.clone()).is_ok() {
            let text = expanded.to_string();
            if let Err(error) = syn::parse2::<syn::File>(expanded) {
                panic!("{error} in the expansion of input {input}: {item}:\n{text}");
            }
        }
    }
}

fn inputs() -> u64 {
    let inputs = env::var("PULLBACK_FUZZ").ok();
    inputs.map_or(2_000, |inputs| inputs.parse().expect("a number of inputs"))
}

fn check(input: u64, args: &TokenStream, item: &TokenStream) {
    let shown = || format!("input {input}: #[custom_function({args})] {item}");
    let expand = || stages::unguarded(args.clone(), item.clone(), &Place::default(), "pullback");
    let Ok(expanded) = catch_unwind(AssertUnwindSafe(expand)) else {
        panic!("a panic on {}", shown());
    };
    // Only items reach an attribute.
    if syn::parse2::<syn::Item>(strip::helpers(item.clone())).is_err() {
        return;
    }
    let text = expanded.to_string();
    if let Err(error) = syn::parse2::<syn::File>(expanded) {
        assert!(
            text.contains("compile_error"),
            "{error} in the expansion of {}:\n{text}",
            shown()
        );
    }
}

/// The generator `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let limit = u64::try_from(limit.max(1)).expect("a number of tokens");
        usize::try_from((bits ^ (bits >> 31)) % limit).expect("less than a number of tokens")
    }

    fn delimiter(&mut self) -> Delimiter {
        [
            Delimiter::Parenthesis,
            Delimiter::Bracket,
            Delimiter::Brace,
            Delimiter::None,
        ][self.below(4)]
    }
}

/// Changes one thing, at any depth.
fn damage(tokens: TokenStream, pool: &[TokenTree], random: &mut Random) -> TokenStream {
    let mut tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let place = random.below(tokens.len());
    if let Some(TokenTree::Group(group)) = tokens.get(place)
        && random.below(6) > 0
    {
        let inner = damage(group.stream(), pool, random);
        tokens[place] = Group::new(group.delimiter(), inner).into();
        return tokens.into_iter().collect();
    }
    let from_pool = pool.get(random.below(pool.len())).cloned();
    if tokens.is_empty() {
        return from_pool.into_iter().collect();
    }
    match random.below(7) {
        0 => drop(tokens.remove(place)),
        1 => tokens.insert(place, tokens[place].clone()),
        2 => {
            let other = random.below(tokens.len());
            tokens.swap(place, other);
        }
        3 => tokens.splice(place..=place, from_pool).for_each(drop),
        4 => tokens.splice(place..place, from_pool).for_each(drop),
        5 => {
            let end = place + 1 + random.below(tokens.len() - place);
            let inner = tokens.drain(place..end).collect();
            tokens.insert(place, Group::new(random.delimiter(), inner).into());
        }
        _ => match tokens[place].clone() {
            TokenTree::Group(group) if random.below(2) == 0 => {
                tokens[place] = Group::new(random.delimiter(), group.stream()).into();
            }
            TokenTree::Group(group) => {
                tokens.splice(place..=place, group.stream()).for_each(drop);
            }
            // A name of this very definition is taken for another more easily than a foreign one.
            _ => {
                let own: TokenStream = tokens.iter().cloned().collect();
                let own = leaves(&own);
                tokens[place] = own[random.below(own.len())].clone();
            }
        },
    }
    tokens.into_iter().collect()
}

/// Returns the tokens that are not groups.
fn leaves(tokens: &TokenStream) -> Vec<TokenTree> {
    let tokens = tokens.clone().into_iter();
    tokens
        .flat_map(|token| match token {
            TokenTree::Group(group) if !group.stream().is_empty() => leaves(&group.stream()),
            token => vec![token],
        })
        .collect()
}

/// Returns the arguments and items of all uses of the attribute in the workspace, and what is in `quote!`.
fn definitions(attribute: &str) -> Vec<(TokenStream, TokenStream)> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for folder in [
        "autograd-macros/tests/ui",
        "tests/it",
        "examples",
        "autograd-core/src/ops",
        "autograd-macros/src/expand",
        "autograd-macros/src/module",
    ] {
        let mut files = Vec::new();
        collect_files(&workspace.join(folder), &mut files);
        files.sort();
        for file in files {
            let text = fs::read_to_string(file).expect("a readable source");
            let tokens: TokenStream = text.parse().expect("a source of tokens");
            collect_definitions(tokens, attribute, &mut found);
        }
    }
    found
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the workspace") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            collect_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Finds `#[custom_function(…)] item` among tokens, and items in `quote!`.
fn collect_definitions(
    tokens: TokenStream,
    attribute: &str,
    found: &mut Vec<(TokenStream, TokenStream)>,
) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            continue;
        };
        let word = |before: usize| {
            index
                .checked_sub(before)
                .map(|place| tokens[place].to_string())
        };
        if word(2).as_deref() == Some("quote") && word(1).as_deref() == Some("!") {
            if syn::parse2::<syn::Item>(strip::helpers(group.stream())).is_ok() {
                found.push((TokenStream::new(), group.stream()));
            }
        } else if word(1).as_deref() == Some("#")
            && let Ok(meta) = syn::parse2::<syn::Meta>(group.stream())
            && meta.path().is_ident(attribute)
        {
            let args = match &meta {
                syn::Meta::List(list) => list.tokens.clone(),
                _ => TokenStream::new(),
            };
            // The item ends where the next thing after its braces, or a semicolon, begins.
            let is_end = |token: &TokenTree| match token {
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                TokenTree::Punct(punct) => punct.as_char() == ';',
                _ => false,
            };
            let rest = &tokens[index + 1..];
            let length = rest
                .iter()
                .position(is_end)
                .map_or(rest.len(), |end| end + 1);
            found.push((args, rest[..length].iter().cloned().collect()));
        }
        collect_definitions(group.stream(), attribute, found);
    }
}
