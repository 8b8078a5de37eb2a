//! Turns tokens into syntax: reads the block and our attributes, and judges nothing.
//!
//! Bodies of functions are never parsed. They contain nothing that matters here, parsing them costs most of the
//! time, and syntax that `syn` does not know yet must not break a function that uses it.

use std::iter;
use std::ops::Range;

use proc_macro2::{Group, TokenStream, TokenTree};
use syn::buffer::Cursor;
use syn::ext::IdentExt as _;
use syn::parse::discouraged::Speculative as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Expr, Generics, Ident, Lit, LitStr, Meta, Path, Signature, Token, Type, Visibility,
};
use syn::{braced, parenthesized, token};

use crate::diagnostics::distance_within;
use crate::lists::Lists as _;

/// The item below the attribute.
pub(crate) enum Item {
    Impl(Box<ImplBlock>),
    Function(Box<Function>),
    /// A function whose signature the compiler has refused.
    Unfinished,
    /// Anything else, by its keyword.
    Other(Ident),
}

/// `impl Name { … }`
pub(crate) struct ImplBlock {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) generics: Generics,
    /// The trait of `impl Trait for Name`.
    pub(crate) trait_: Option<Type>,
    pub(crate) self_ty: Type,
    pub(crate) methods: Vec<Method>,
    /// Our attributes on members that are not functions, with the member's keyword.
    pub(crate) misplaced: Vec<(Helper, Ident)>,
    /// Functions that are not whole, by the places of their tokens: the compiler has said so.
    pub(crate) unfinished: Vec<Range<usize>>,
}

/// `fn name(…) -> … { … }`, outside any block.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// The body, in its braces.
    pub(crate) body: Group,
}

/// A function of the block.
pub(crate) struct Method {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) helpers: Vec<Helper>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// The body, as tokens.
    pub(crate) body: TokenStream,
    /// The short form: the gradient that `grad(…)` gives, of a function whose signature is yet to be
    /// written.
    pub(crate) expression: Option<Expr>,
    /// The places of its tokens in the block.
    pub(crate) place: Range<usize>,
}

/// An attribute such as `#[forward(…)]` or `#[backward(…)]`.
pub(crate) struct Helper {
    pub(crate) name: Ident,
    pub(crate) arguments: Arguments,
    /// The attribute around it, if it is not written plainly: `pullback::forward`, `cfg_attr(test, forward)`.
    pub(crate) disguise: Option<Attribute>,
}

/// The arguments of an attribute, or why they could not be read.
pub(crate) type Arguments = syn::Result<Vec<Argument>>;

/// The options of `#[backward(…)]` and `grad(…)`, beside the inputs that they name.
pub(crate) const OPTIONS: [&str; 2] = ["ignores_grad", "once"];

/// One argument: `input`, `saves(mean, rstd)`, `name = "linear"` or `grad(x) = …`.
#[derive(Clone)]
pub(crate) struct Argument {
    pub(crate) name: Ident,
    pub(crate) list: Option<Vec<Argument>>,
    pub(crate) value: Option<Expr>,
    /// The range of `x = [3] in -1.0..1.0`, in `gradcheck(…)` alone.
    pub(crate) within: Option<Expr>,
    /// The word in `norm = each [Sum, Squares]`, in `gradcheck(…)` alone.
    pub(crate) each: Option<Ident>,
    /// Whether the name is written in quotes.
    pub(crate) is_quoted: bool,
}

/// `#[custom_function(…)]`, with the arguments of others above the same item.
pub(crate) struct Attributes {
    pub(crate) arguments: Arguments,
    /// The names of the others.
    pub(crate) repeated: Vec<Path>,
}

/// Returns whether an attribute above the item has the name of an argument, or of an attribute in a block.
pub(crate) fn is_argument(name: &Ident) -> bool {
    const ARGUMENTS: [&str; 8] = [
        "gradcheck",
        "batch",
        "shapes",
        "elementwise",
        "pairs",
        "scan",
        "higher_order",
        "grad",
    ];
    ARGUMENTS.iter().any(|argument| name == argument) || is_of_a_block(name)
}

/// Returns whether this is an attribute of a function in a block.
pub(crate) fn is_of_a_block(name: &Ident) -> bool {
    ATTRIBUTES
        .iter()
        .any(|row| !row.1.is_empty() && name == row.1)
}

/// Reads the arguments of `#[custom_function(…)]`, and others above the same item.
pub(crate) fn attributes(args: TokenStream, others: Vec<(Path, TokenStream)>) -> Attributes {
    let (repeated, others): (_, Vec<_>) = others.into_iter().unzip();
    let all: syn::Result<Vec<_>> = iter::once(args).chain(others).map(arguments).collect();
    Attributes {
        arguments: all.map(|all| all.concat()),
        repeated,
    }
}

fn arguments(tokens: TokenStream) -> Arguments {
    argument_list.parse2(tokens)
}

/// Reads the item under `#[custom_function]`.
pub(crate) fn item(tokens: TokenStream) -> syn::Result<Item> {
    let keyword = keyword(tokens.clone())?;
    if keyword == "impl" {
        let block = ImplBlock::parse.parse2(tokens)?;
        return Ok(Item::Impl(Box::new(block)));
    }
    if keyword == "fn" {
        let signature = |input: ParseStream| {
            input.call(Attribute::parse_outer)?;
            input.parse::<Visibility>()?;
            input.parse::<Signature>()?;
            input.parse::<TokenStream>()
        };
        if signature.parse2(tokens.clone()).is_err() {
            return Ok(Item::Unfinished);
        }
        let function = Function::parse.parse2(tokens)?;
        return Ok(Item::Function(Box::new(function)));
    }
    Ok(Item::Other(keyword))
}

/// The attributes of functions in a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Forward,
    Backward,
    Adjoint,
    Jvp,
    Vmap,
    Residual,
    /// `#[saves(…)]`: an argument of `#[forward]`, which is not an attribute itself.
    OfForward,
    /// `#[ignores_grad]`: an option of `#[backward]`.
    OfBackward,
}

/// Each attribute with its name, the number of wrong letters that it is still recognized with, and the names that other
/// frameworks have for it.
const ATTRIBUTES: [(Part, &str, usize, &[&str]); 8] = [
    (Part::Forward, "forward", 2, &["fwd", "primal"]),
    (
        Part::Backward,
        "backward",
        2,
        &[
            "grad",
            "grads",
            "gradient",
            "gradients",
            "vjp",
            "bwd",
            "pullback",
        ],
    ),
    (
        Part::Adjoint,
        "adjoint",
        2,
        &["transpose", "transposed", "adjoints", "linear"],
    ),
    (
        Part::Jvp,
        "jvp",
        0,
        &["jvps", "tangent", "tangents", "forward_mode"],
    ),
    (Part::Vmap, "vmap", 0, &["vmaps", "batched", "batching"]),
    (
        Part::Residual,
        "residual",
        2,
        &["implicit", "optimality", "optimality_fun", "custom_root"],
    ),
    (
        Part::OfForward,
        "",
        0,
        &["outputs", "saves", "non_differentiable"],
    ),
    (
        Part::OfBackward,
        "",
        0,
        &["once_differentiable", "ignores_grad"],
    ),
];

impl Part {
    /// Returns the attribute that an attribute of a member was meant to be, if it is one of ours. Misspelled names
    /// (`#[foward]`) and those of other frameworks are meant to be ours: nothing else would accept them, and the rules
    /// suggest what to write.
    pub(crate) fn meant(name: &Ident) -> Option<Self> {
        let name = name.to_string();
        let mut rows = ATTRIBUTES.iter();
        let known = rows.find(|row| row.1 == name || row.3.contains(&&*name));
        let near = || {
            let distances = ATTRIBUTES.iter().filter_map(|row| {
                let distance = distance_within(&name, row.1, row.2)?;
                Some((row, distance))
            });
            distances.min_by_key(|(_, distance)| *distance)
        };
        known.or_else(|| Some(near()?.0)).map(|row| row.0)
    }

    /// Returns the name of the attribute; nothing for an argument of one.
    pub(crate) fn name(self) -> &'static str {
        let row = ATTRIBUTES.iter().find(|row| row.0 == self);
        row.map_or("", |row| row.1)
    }
}

/// Returns the attribute that an attribute of a parameter was meant to be, if it is one of ours.
pub(crate) fn meant_on_parameter(name: &Ident) -> Option<&'static str> {
    let name = name.to_string();
    let near = |ours: &str, most| distance_within(&name, ours, most).is_some();
    if near("tensor", 1) {
        Some("tensor")
    } else if near("non_differentiable", 4)
        || ["no_grad", "detach", "constant", "skip", "ignore"].contains(&&*name)
    {
        Some("non_differentiable")
    } else if near("each", 1) {
        Some("each")
    } else if near("state", 1) {
        Some("state")
    } else if near("step", 1) {
        Some("step")
    } else if name == "row" || name == "rows" {
        Some("row")
    } else if near("column", 2) || name == "col" {
        Some("column")
    } else {
        None
    }
}

/// Returns whether an attribute of a parameter is for the macro alone: ours, and documentation, which is refused.
pub(crate) fn is_ours(attr: &Attribute) -> bool {
    attr.path().get_ident().is_some_and(is_ours_on_parameter)
}

/// Returns whether this is the name of such an attribute.
pub(crate) fn is_ours_on_parameter(name: &Ident) -> bool {
    name == "doc" || meant_on_parameter(name).is_some()
}

impl Parse for ImplBlock {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        input.parse::<Option<Token![unsafe]>>()?;
        input.parse::<Token![impl]>()?;
        let mut generics: Generics = input.parse()?;
        input.parse::<Option<Token![!]>>()?;
        let mut self_ty: Type = input.parse()?;
        let mut trait_ = None;
        if input.parse::<Option<Token![for]>>()?.is_some() {
            trait_ = Some(std::mem::replace(&mut self_ty, input.parse()?));
        }
        generics.where_clause = input.parse()?;
        let members;
        braced!(members in input);
        let begin = members.cursor();
        members.call(Attribute::parse_inner)?;
        let (mut methods, mut misplaced, mut unfinished) = (Vec::new(), Vec::new(), Vec::new());
        let mut end = tokens(begin, members.cursor());
        while !members.is_empty() {
            let start = members.cursor();
            // What cannot be read the compiler has refused: an attribute that nothing follows yet.
            let member = member(&members).or_else(|_| {
                members.parse::<TokenStream>()?;
                Ok::<_, syn::Error>(Member::Unfinished)
            })?;
            let place = end..end + tokens(start, members.cursor());
            end = place.end;
            match member {
                Member::Method(method) => methods.push(Method { place, ..*method }),
                Member::Other(keyword, helpers) => {
                    misplaced.extend(helpers.into_iter().map(|helper| (helper, keyword.clone())));
                }
                Member::Unfinished => unfinished.push(place),
            }
        }
        Ok(Self {
            attrs,
            generics,
            trait_,
            self_ty,
            methods,
            misplaced,
            unfinished,
        })
    }
}

/// Returns how many tokens are between two places, with a group as one.
fn tokens(mut place: Cursor<'_>, end: Cursor<'_>) -> usize {
    let mut count = 0;
    while place != end
        && let Some((_, next)) = place.token_tree()
    {
        place = next;
        count += 1;
    }
    count
}

impl Parse for Function {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let sig = input.parse()?;
        if !input.peek(token::Brace) {
            return Err(input.error("this function has no body; write `{ … }`"));
        }
        let body = input.parse()?;
        Ok(Self {
            attrs,
            vis,
            sig,
            body,
        })
    }
}

impl Parse for Argument {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        Self::read(input, false)
    }
}

impl Argument {
    /// Reads an argument; `is_sample` in `gradcheck(…)`, where a value may have variants.
    fn read(input: ParseStream, is_sample: bool) -> syn::Result<Self> {
        let is_quoted = input.peek(LitStr);
        let name = if is_quoted {
            let text: LitStr = input.parse()?;
            text.parse_with(Ident::parse_any).map_err(|_| text.span())
        } else {
            input.call(Ident::parse_any).map_err(|error| error.span())
        };
        let name =
            name.map_err(|place| syn::Error::new(place, "expected a name, as in `grad(x) = …`"))?;
        let mut list = None;
        if input.peek(token::Paren) {
            let content;
            parenthesized!(content in input);
            list = Some(if name == "gradcheck" {
                list_of(&content, Self::sample)?
            } else {
                argument_list(&content)?
            });
        }
        if input.peek(Token![:]) {
            let is_value = input.peek2(token::Bracket) || input.peek2(Lit);
            let otherwise = if is_value {
                ""
            } else {
                ", or the name without a type"
            };
            return Err(input.error(format!("write `{name} = …`{otherwise}")));
        }
        if input.peek(Token![=>]) {
            return Err(input.error("write `=` in place of `=>`"));
        }
        let equals = input.parse::<Option<Token![=]>>()?;
        let is_gradient = list.is_some() && (name == "grad" || name == "adjoint");
        if is_gradient && equals.is_none() && !input.is_empty() && !input.peek(Token![,]) {
            return Err(input.error(format!("write `=` between `{name}(…)` and the gradient")));
        }
        let each = if is_sample && equals.is_some() && is_each(input) {
            Some(input.parse()?)
        } else {
            None
        };
        let is_missing = each.is_some() && (input.is_empty() || input.peek(Token![,]));
        let value = equals.filter(|_| !is_missing);
        let value = value.map(|_| input.parse()).transpose()?;
        if input.peek(Token![;]) {
            let message =
                format!("`{name}` is one expression; put statements in braces, `{{ …; … }}`");
            return Err(input.error(message));
        }
        Ok(Self {
            name,
            list,
            value,
            within: None,
            each,
            is_quoted,
        })
    }

    /// Returns whether an argument of `#[backward(…)]` or `grad(…)` is none of their options.
    pub(crate) fn is_an_input(&self) -> bool {
        !OPTIONS.iter().any(|option| self.name == option)
    }

    /// Reads an argument that may have a range.
    fn sample(input: ParseStream) -> syn::Result<Self> {
        if !input.peek(Ident::peek_any) {
            return Err(input.error("expected an input, as in `x = [3]` or `x = [3] in 0.5..2.0`"));
        }
        let mut sample = Self::read(input, true)?;
        if input.parse::<Option<Token![in]>>()?.is_some() {
            sample.within = Some(input.parse()?);
        }
        Ok(sample)
    }
}

/// Returns whether `each` is next, and is not the beginning of an expression.
fn is_each(input: ParseStream) -> bool {
    let is_word = input
        .fork()
        .parse::<Ident>()
        .is_ok_and(|word| word == "each");
    is_word && !(input.peek2(Token![.]) || input.peek2(Token![::]) || input.peek2(Token![!]))
}

enum Member {
    Method(Box<Method>),
    Other(Ident, Vec<Helper>),
    Unfinished,
}

fn member(input: ParseStream) -> syn::Result<Member> {
    let attrs = input.call(Attribute::parse_outer)?;
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    for attribute in attrs {
        match helper(&attribute) {
            Some(helper) => ours.push(helper),
            None => others.push(attribute),
        }
    }
    let vis: Visibility = input.parse()?;
    let fork = input.fork();
    if let Ok(sig) = fork.parse::<Signature>() {
        input.advance_to(&fork);
        if !input.peek(token::Brace) {
            input.parse::<Option<Token![;]>>()?;
            return Ok(Member::Unfinished);
        }
        let body: Group = input.parse()?;
        return Ok(Member::Method(Box::new(Method {
            attrs: others,
            helpers: ours,
            vis,
            sig,
            body: body.stream(),
            expression: None,
            place: 0..0,
        })));
    }
    let keyword = input.fork().call(Ident::parse_any)?;
    skip_member(input, keyword == "const" || keyword == "type")?;
    Ok(if keyword == "fn" {
        Member::Unfinished
    } else {
        Member::Other(keyword, ours)
    })
}

/// Skips a constant, a type or a macro call: to its `;`, or to its braces where those can end it.
fn skip_member(input: ParseStream, needs_semicolon: bool) -> syn::Result<()> {
    while !input.is_empty() {
        let braces = input.peek(token::Brace);
        let semicolon = input.peek(Token![;]);
        input.parse::<TokenTree>()?;
        if semicolon || (braces && !needs_semicolon) {
            break;
        }
    }
    Ok(())
}

/// Reads an attribute if it is one of ours.
fn helper(attribute: &Attribute) -> Option<Helper> {
    let path = attribute.path();
    if path.is_ident("cfg_attr") {
        let Meta::List(list) = &attribute.meta else {
            return None;
        };
        let inner = |input: ParseStream| {
            input.parse::<Meta>()?;
            input.parse::<Token![,]>()?;
            Punctuated::<Meta, Token![,]>::parse_terminated(input)
        };
        let mut inner = inner.parse2(list.tokens.clone()).ok()?.into_iter();
        return inner.find_map(|meta| {
            let inner = Attribute {
                meta,
                ..attribute.clone()
            };
            let disguise = Some(attribute.clone());
            Some(Helper {
                disguise,
                ..helper(&inner)?
            })
        });
    }
    let name = path.segments.last()?.ident.clone();
    let is_alone = path.get_ident().is_some();
    Part::meant(&name).filter(|ours| is_alone || name == ours.name())?;
    let disguise = (!is_alone).then(|| attribute.clone());
    Some(Helper {
        disguise,
        ..named(attribute, name)
    })
}

/// Reads an attribute of this name.
pub(crate) fn named(attribute: &Attribute, name: Ident) -> Helper {
    let arguments = match &attribute.meta {
        Meta::Path(_) => Ok(Vec::new()),
        Meta::List(list) if list.tokens.is_empty() && name == "backward" => {
            let message = "`#[backward()]` names no input; write `#[backward(x)]`, or `#[backward]` for the gradients \
                           of all inputs";
            Err(syn::Error::new_spanned(&list.path, message))
        }
        Meta::List(list) => arguments(list.tokens.clone()),
        Meta::NameValue(pair) => {
            let message = format!("arguments must be in parentheses; write `#[{name}(…)]`");
            Err(syn::Error::new_spanned(pair.eq_token, message))
        }
    };
    Helper {
        name,
        arguments,
        disguise: None,
    }
}

fn argument_list(input: ParseStream) -> Arguments {
    list_of(input, Argument::parse)
}

fn list_of(input: ParseStream, one: fn(ParseStream) -> syn::Result<Argument>) -> Arguments {
    let list = Punctuated::<Argument, Token![,]>::parse_terminated_with(input, one)?;
    Ok(list.into_iter().listed())
}

/// Returns the keyword of an item.
fn keyword(tokens: TokenStream) -> syn::Result<Ident> {
    const DECISIVE: [&str; 11] = [
        "impl",
        "fn",
        "struct",
        "enum",
        "union",
        "trait",
        "mod",
        "static",
        "type",
        "use",
        "macro_rules",
    ];
    let first_word = |input: ParseStream| {
        input.call(Attribute::parse_outer)?;
        input.parse::<Visibility>()?;
        // `const`, `unsafe` and `extern` decide only if nothing better follows.
        let mut qualifier = None;
        let mut decisive = None;
        while !input.is_empty() && decisive.is_none() {
            match input.parse::<TokenTree>()? {
                TokenTree::Ident(word) if DECISIVE.iter().any(|known| word == known) => {
                    decisive = Some(word);
                }
                TokenTree::Ident(word) => {
                    qualifier.get_or_insert(word);
                }
                _ => {}
            }
        }
        input.parse::<TokenStream>()?;
        decisive
            .or(qualifier)
            .ok_or_else(|| input.error("expected an `impl` block"))
    };
    first_word.parse2(tokens)
}
