//! Expressions of a formula that have no derivative, and what is known of their types.

use std::rc::Rc;

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens as _, quote};
use syn::{BinOp, Expr, Ident, Member, Type, parse_quote};

use super::unrolled::length;
use crate::spell::{for_each_word, private};
use crate::types::{entry_of, is_one_of, peel, same};

/// The most tokens of an expression.
const TOKENS: usize = 64;

/// An expression without numbers, which is written wherever it is used.
#[derive(Clone)]
pub(super) struct Plain {
    pub(super) tokens: TokenStream,
    pub(super) ty: Known,
}

/// What is known of the type of an expression. One whose type does not fit is not written: the compiler has an error for it
/// in the formula already.
#[derive(Clone)]
pub(super) enum Known {
    /// It is a whole number, of a type that the compiler finds out.
    Whole(i64),
    Type(Rc<Type>),
    /// It is that of a constant, or of a part of one.
    Unknown,
    /// It is that of a reference to such a one.
    Lent,
}

impl Known {
    pub(super) fn float() -> Self {
        Self::of(&parse_quote!(f64))
    }

    pub(super) fn of(ty: &Type) -> Self {
        Self::Type(Rc::new(ty.clone()))
    }
}

impl Plain {
    /// Returns an expression, if it is not too long.
    pub(super) fn new(tokens: TokenStream, ty: Known) -> Option<Self> {
        (length(&tokens) <= TOKENS).then_some(Self { tokens, ty })
    }

    /// Returns a whole number, if it is one of most types.
    pub(super) fn whole(number: i64) -> Option<Self> {
        let literal = Literal::i32_unsuffixed(i32::try_from(number.checked_abs()?).ok()?);
        Self::new(signed(number, &literal), Known::Whole(number))
    }

    /// Returns a whole number as an `f64`.
    fn of_whole(number: i64) -> Option<Self> {
        let size = i32::try_from(number.checked_abs()?).ok()?;
        let literal = Literal::f64_unsuffixed(f64::from(size));
        Self::new(signed(number, &literal), Known::float())
    }

    /// Returns the whole number that it is, if that is known.
    pub(super) fn whole_number(&self) -> Option<i64> {
        match self.ty {
            Known::Whole(number) => Some(number),
            Known::Type(_) | Known::Unknown | Known::Lent => None,
        }
    }

    /// Returns it as an `f64`.
    pub(super) fn float(&self) -> Option<TokenStream> {
        self.of_type(&parse_quote!(f64))
    }

    /// Returns it as what has a type, if it may have it.
    pub(super) fn of_type(&self, ty: &Type) -> Option<TokenStream> {
        let tokens = &self.tokens;
        match &self.ty {
            Known::Whole(number) => is_in(*number, ty).then(|| tokens.clone()),
            Known::Type(own) => same(own, ty).then(|| tokens.clone()),
            Known::Unknown => {
                let p = private();
                let name = ty.to_token_stream();
                Some(quote!(#p::known::<::core::primitive::#name, _>(&#tokens)))
            }
            Known::Lent => self.target()?.of_type(ty),
        }
    }

    /// Returns it as what has methods of `f64`: a literal alone has no type there.
    pub(super) fn receiver(&self) -> Option<TokenStream> {
        let tokens = &self.tokens;
        let Known::Type(ty) = &self.ty else {
            return matches!(self.ty, Known::Unknown | Known::Lent).then(|| tokens.clone());
        };
        if let Type::Reference(_) = &**ty {
            return self.target()?.receiver();
        }
        if !is_float(ty) {
            return None;
        }
        let mut has_name = false;
        for_each_word(tokens.clone(), &mut |_| has_name = true);
        if has_name {
            return Some(tokens.clone());
        }
        let p = private();
        Some(quote!(#p::known::<::core::primitive::f64, _>(&#tokens)))
    }

    pub(super) fn reference(&self) -> Option<Self> {
        let (tokens, ty) = (
            &self.tokens,
            match &self.ty {
                Known::Whole(_) | Known::Lent => return None,
                Known::Type(ty) => Known::of(&parse_quote!(&#ty)),
                Known::Unknown => Known::Lent,
            },
        );
        Self::new(quote!((&#tokens)), ty)
    }

    /// Returns what it refers to.
    pub(super) fn target(&self) -> Option<Self> {
        let ty = match &self.ty {
            Known::Type(ty) => match &**ty {
                Type::Reference(reference) => Known::of(&reference.elem),
                _ => return None,
            },
            Known::Unknown | Known::Lent => Known::Unknown,
            Known::Whole(_) => return None,
        };
        let tokens = &self.tokens;
        Self::new(quote!((*#tokens)), ty)
    }

    pub(super) fn field(&self, member: &Member) -> Option<Self> {
        let ty = match &self.ty {
            Known::Type(ty) => match (&**ty, member) {
                (Type::Tuple(tuple), Member::Unnamed(place)) => {
                    let place = usize::try_from(place.index).ok()?;
                    Known::of(tuple.elems.iter().nth(place)?)
                }
                (ty, _) => {
                    let is_struct = matches!(peeled(ty), Type::Path(_)) && !is_number(peeled(ty));
                    is_struct.then_some(Known::Unknown)?
                }
            },
            Known::Unknown | Known::Lent => Known::Unknown,
            Known::Whole(_) => return None,
        };
        let tokens = &self.tokens;
        Self::new(quote!(#tokens.#member), ty)
    }

    pub(super) fn entry(&self, place: &Self) -> Option<Self> {
        let ty = match &self.ty {
            Known::Type(ty) => Known::of(entry_of(peeled(ty))?),
            Known::Unknown | Known::Lent => Known::Unknown,
            Known::Whole(_) => return None,
        };
        let (tokens, place) = (&self.tokens, place.of_type(&parse_quote!(usize))?);
        Self::new(quote!(#tokens[#place]), ty)
    }

    /// Returns the number of entries, if the type has it.
    pub(super) fn length(&self) -> Option<&Expr> {
        match &self.ty {
            Known::Type(ty) => match peeled(ty) {
                Type::Array(array) => Some(&array.len),
                _ => None,
            },
            Known::Whole(_) | Known::Unknown | Known::Lent => None,
        }
    }

    pub(super) fn cast(&self, ty: &Type) -> Option<Self> {
        let ty = peel(ty);
        if !is_number(ty) {
            return None;
        }
        match &self.ty {
            Known::Whole(number) if is_float(ty) => Self::of_whole(*number),
            Known::Whole(number) => is_in(*number, ty).then(|| Self::whole(*number))?,
            Known::Type(own) if !is_number(own) => None,
            Known::Lent => None,
            Known::Type(_) | Known::Unknown => {
                let tokens = &self.tokens;
                Self::new(quote!((#tokens as #ty)), Known::of(ty))
            }
        }
    }

    /// Returns `f64::from` of it.
    pub(super) fn converted(&self) -> Option<Self> {
        let tokens = &self.tokens;
        match &self.ty {
            Known::Whole(number) => Self::of_whole(*number),
            Known::Type(ty) if !is_number(ty) || is_one_of(ty, &WIDE) => None,
            Known::Lent => None,
            Known::Type(_) | Known::Unknown => Self::new(
                quote!(<::core::primitive::f64 as ::core::convert::From<_>>::from(#tokens)),
                Known::float(),
            ),
        }
    }

    pub(super) fn negated(&self) -> Option<Self> {
        let tokens = &self.tokens;
        match &self.ty {
            Known::Whole(number) => Self::whole(number.checked_neg()?),
            Known::Type(ty) if !is_number(peeled(ty)) => None,
            Known::Type(ty) => Self::new(quote!((-#tokens)), Known::of(peeled(ty))),
            Known::Unknown | Known::Lent => Self::new(quote!((-#tokens)), Known::Unknown),
        }
    }

    pub(super) fn with(&self, operator: &BinOp, other: &Self) -> Option<Self> {
        if let (Known::Whole(left), Known::Whole(right)) = (&self.ty, &other.ty) {
            return Self::whole(match operator {
                BinOp::Add(_) => left.checked_add(*right),
                BinOp::Sub(_) => left.checked_sub(*right),
                BinOp::Mul(_) => left.checked_mul(*right),
                BinOp::Div(_) => left.checked_div(*right),
                _ => left.checked_rem(*right),
            }?);
        }
        let (left, right, ty) = self.beside(other)?;
        Self::new(quote!((#left #operator #right)), ty)
    }

    /// Returns what is this if a condition holds and another one otherwise, if both have one type.
    pub(super) fn or(&self, other: &Self, condition: &Ident) -> Option<Self> {
        let (first, second, ty) = self.beside(other)?;
        let is_typed = matches!(ty, Known::Type(_));
        is_typed.then(|| Self::new(quote!((if #condition { #first } else { #second })), ty))?
    }

    /// Returns whether it is computed of constants alone: if that panics, the compiler says so.
    pub(super) fn is_constant(&self) -> bool {
        let mut is_constant = true;
        for_each_word(self.tokens.clone(), &mut |word| {
            is_constant &= word.to_string().chars().all(is_of_constants);
        });
        is_constant
    }

    /// Returns whether it is written as another one, of the same type.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let are_same = match (&self.ty, &other.ty) {
            (Known::Whole(own), Known::Whole(other)) => return own == other,
            (Known::Type(own), Known::Type(other)) => same(own, other),
            (Known::Unknown, Known::Unknown) | (Known::Lent, Known::Lent) => true,
            _ => false,
        };
        are_same && self.tokens.to_string() == other.tokens.to_string()
    }

    /// Returns the comparison of two of one type.
    pub(super) fn compared(&self, operator: &BinOp, other: &Self) -> Option<TokenStream> {
        let is_reference = |ty: &Known| match ty {
            Known::Type(ty) => !is_number(ty),
            Known::Lent => true,
            Known::Whole(_) | Known::Unknown => false,
        };
        if is_reference(&self.ty) || is_reference(&other.ty) {
            return None;
        }
        let (left, right, ty) = self.beside(other)?;
        matches!(ty, Known::Type(_)).then(|| quote!((#left #operator #right)))
    }

    /// Returns two operands, which have one type.
    fn beside(&self, other: &Self) -> Option<(TokenStream, TokenStream, Known)> {
        let ty = match (&self.ty, &other.ty) {
            (Known::Type(ty), _) | (_, Known::Type(ty)) => peeled(ty),
            _ => return Some((self.tokens.clone(), other.tokens.clone(), Known::Unknown)),
        };
        if !is_number(ty) {
            return None;
        }
        let operand = |plain: &Self| match &plain.ty {
            Known::Type(own) => same(peeled(own), ty).then(|| plain.tokens.clone()),
            Known::Whole(_) | Known::Unknown | Known::Lent => plain.of_type(ty),
        };
        Some((operand(self)?, operand(other)?, Known::of(ty)))
    }

    /// Returns whether it certainly is an `f64`: operators never panic then.
    pub(super) fn is_float(&self) -> bool {
        matches!(&self.ty, Known::Type(ty) if is_float(peeled(ty)))
    }
}

/// Returns whether a letter is one of the name of a constant.
pub(super) fn is_of_constants(letter: char) -> bool {
    letter.is_uppercase() || letter.is_ascii_digit() || letter == '_'
}

/// Returns a type without its references.
fn peeled(ty: &Type) -> &Type {
    match peel(ty) {
        Type::Reference(reference) => peeled(&reference.elem),
        ty => ty,
    }
}

/// The types of whole numbers that `f64` does not have each of.
const WIDE: [&str; 6] = ["i64", "u64", "i128", "u128", "isize", "usize"];

/// The types of whole numbers, with the largest number that all from 8, 16 and 32 bits on have.
const WHOLE: [(&[&str], i64); 4] = [
    (&["i8", "u8"], 127),
    (&["i16", "u16"], 32_767),
    (&["i32", "u32"], 2_147_483_647),
    (&WIDE, 2_147_483_647),
];

/// Returns whether a type is one of numbers that have none of our derivatives.
fn is_number(ty: &Type) -> bool {
    is_float(ty) || largest(ty).is_some()
}

fn is_float(ty: &Type) -> bool {
    is_one_of(ty, &["f64"])
}

fn largest(ty: &Type) -> Option<i64> {
    let mut sizes = WHOLE.iter();
    let (_, largest) = sizes.find(|(names, _)| is_one_of(ty, names))?;
    Some(*largest)
}

/// Returns whether a whole number certainly is one of a type.
pub(super) fn is_in(number: i64, ty: &Type) -> bool {
    let is_signed = peel(ty).to_token_stream().to_string().starts_with('i');
    largest(ty).is_some_and(|largest| {
        number <= largest && (number >= 0 || is_signed && -number <= largest)
    })
}

fn signed(number: i64, size: &Literal) -> TokenStream {
    if number < 0 {
        quote!((-#size))
    } else {
        quote!(#size)
    }
}
