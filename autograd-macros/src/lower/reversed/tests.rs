use proc_macro2::{Delimiter, Group};
use syn::{ItemFn, parse_quote};

use super::*;
use crate::constants::Constants;
use crate::lower::written_out::tests::sample;
use crate::model::{Beside, Row};

/// Returns the operations of the body of `fn f<T: Real>(x: [T; 3], width: f64) -> T`, and the number that it returns.
fn operations(body: TokenStream) -> Option<String> {
    let formula = sample(Some(Row::Of(parse_quote!(3))));
    shown(&Group::new(Delimiter::Brace, body), &formula)
}

/// Returns the operations of the body of a formula, and the number that it returns.
fn shown(body: &Group, formula: &Elementwise) -> Option<String> {
    let reversed = reversed(body, formula)?;
    let shown = |operand: &Operand| match operand {
        Operand::Number(number) => number.to_string(),
        Operand::Plain(tokens) => format!("`{tokens}`").replace(' ', ""),
    };
    let operations = reversed.operations.iter();
    let texts = operations.map(|operation| match operation {
        Operation::Constant(tokens) | Operation::Condition(Condition::Plain(tokens)) => {
            format!("`{tokens}`")
        }
        Operation::Negated(number) => format!("- {number}"),
        Operation::Operator(operator, [left, right]) => {
            format!(
                "{} {} {}",
                shown(left),
                operator.to_token_stream(),
                shown(right)
            )
        }
        Operation::Method(method, operands) => {
            let operands: Vec<String> = operands.iter().map(shown).collect();
            format!("{method} {}", operands.join(" "))
        }
        Operation::Chosen([condition, _], [first, second]) => {
            format!("{condition} ? {} : {}", shown(first), shown(second))
        }
        Operation::Condition(Condition::Compared(operator, [left, right])) => format!(
            "{} {} {}",
            shown(left),
            operator.to_token_stream(),
            shown(right)
        ),
        Operation::Condition(Condition::Not(condition)) => format!("! {condition}"),
        Operation::Condition(Condition::Both(operator, [left, right])) => {
            format!("{left} {} {right}", operator.to_token_stream())
        }
    });
    // In brackets, how many branches are around.
    let texts = texts
        .zip(&reversed.branches)
        .map(|(text, branch)| match branch {
            None => text,
            Some(Branch { condition, depth }) => format!("[{condition}, {depth}] {text}"),
        });
    let mut texts: Vec<String> = texts.collect();
    assert_eq!(reversed.inputs, 3);
    texts.push(reversed.outputs[0].to_string());
    Some(texts.join("; "))
}

#[test]
fn operations_are_noted_in_their_order() {
    for (body, expected) in [
        (quote!(x[0] * x[1] - x[2]), "0 * 1; 3 - 2; 4"),
        (quote!((-x[0]).exp() / 2.0), "- 0; exp 3; 4 / `2.0`; 5"),
        (
            quote!(width * x[0] + width.sqrt()),
            "`width` * 0; 3 + `(width.sqrt())`; 4",
        ),
        (quote!(x[1].powi(3).max(0.0)), "powi 1 `3`; max 3 `0.0`; 4"),
        (
            quote!(x[0].mul_add(x[1], PI * width)),
            "mul_add 0 1 `(__p::known::<::core::primitive::f64,_>(&PI)*width)`; 3",
        ),
        (
            quote!(let half = T::from(0.5); half * x[0]),
            "`0.5`; 3 * 0; 4",
        ),
        (quote!(x[1]), "1"),
        (
            quote!(let half: f64 = 0.5; x[0] * half.sqrt()),
            "0 * `(__p::known::<::core::primitive::f64,_>(&0.5).sqrt())`; 3",
        ),
        (
            quote!(let n: usize = 3; x[0] * ((n - 5) as f64)),
            "0 * `(-2.0)`; 3",
        ),
        (
            quote!(x[1].powi(-LENGTH)),
            "powi 1 `__p::known::<::core::primitive::i32,_>(&(-LENGTH))`; 3",
        ),
    ] {
        assert_eq!(
            operations(body.clone()).as_deref(),
            Some(expected),
            "{body}"
        );
    }
}

#[test]
fn the_same_operation_is_noted_once() {
    for (body, expected) in [
        (
            quote!((x[0] - x[1]) * (x[0] - x[1]) + (x[1] - x[0])),
            "0 - 1; 3 * 3; 1 - 0; 4 + 5; 6",
        ),
        (
            quote!((-x[0]).exp() * (-x[0]).exp()),
            "- 0; exp 3; 4 * 4; 5",
        ),
        (
            quote!(x[0].exp() * x[0].sin() * x[1].exp()),
            "exp 0; sin 0; 3 * 4; exp 1; 5 * 6; 7",
        ),
        // What has no derivative may differ though its text does not.
        (
            quote!(x[0] * width + x[0] * width),
            "0 * `width`; 0 * `width`; 3 + 4; 5",
        ),
        // One is in a branch, which may not be taken.
        (
            quote!(x[0].exp() + if x[1] > 0.0 { x[0].exp() } else { x[2] }),
            "exp 0; 1 > `0.0`; ! 4; [4, 1] exp 0; 4 ? 6 : 2; 3 + 7; 8",
        ),
    ] {
        assert_eq!(
            operations(body.clone()).as_deref(),
            Some(expected),
            "{body}"
        );
    }
}

#[test]
fn variables_are_the_numbers_that_they_hold() {
    for (body, expected) in [
        (
            quote!(let [a, b, _] = x; let (a, b) = (b, a); a / b),
            "1 / 0; 3",
        ),
        (
            quote!(let mut y = x; y[1] = y[0] * 2.0; y[2] += y[1]; y[2]),
            "0 * `2.0`; 2 + 3; 4",
        ),
        (
            quote!(let mut sum = x[0]; { let sum = x[1]; } { sum -= x[2]; } sum),
            "0 - 2; 3",
        ),
        (
            quote!(let w = [1.0, width]; let n = 2; x[n - 1] * w[n - 1]),
            "1 * `width`; 3",
        ),
        (
            quote!(let k = 1; if k % 2 == 1 { x[k] } else { x[k - 2] }),
            "1",
        ),
        (quote!(let c = &x[0]; let &d = &x[1]; *c + d), "0 + 1; 3"),
        (
            quote!(let rows = [[x[0]; 2], [x[1]; 2]]; rows[1][0] - rows[0][1]),
            "1 - 0; 3",
        ),
        (
            quote!(let y = x[0]; const TWO: f64 = 2.0; y * TWO),
            "0 * `__p::known::<::core::primitive::f64,_>(&TWO)`; 3",
        ),
    ] {
        assert_eq!(
            operations(body.clone()).as_deref(),
            Some(expected),
            "{body}"
        );
    }
}

#[test]
fn closures_are_run_where_they_are_called() {
    for (body, expected) in [
        (
            quote!(let dot = |a: [T; 3], b: [T; 3]| a[0] * b[0] + a[1] * b[1]; dot(x, x).sqrt()),
            "0 * 0; 1 * 1; 3 + 4; sqrt 5; 6",
        ),
        (
            quote!(let y = x[0]; let f = |z| { let y = y * z; y + 1.0 }; f(f(x[1]))),
            "0 * 1; 3 + `1.0`; 0 * 4; 5 + `1.0`; 6",
        ),
        (quote!((|z: T| z)(x[2])), ""),
    ] {
        let found = operations(body.clone());
        let expected = (!expected.is_empty()).then_some(expected);
        assert_eq!(found.as_deref(), expected, "{body}");
    }
}

#[test]
fn both_branches_are_run() {
    for (body, expected) in [
        (
            quote!(if x[0] > 0.0 { x[0] } else { x[1] }),
            "0 > `0.0`; ! 3; 3 ? 0 : 1; 5",
        ),
        (
            quote!(if x[0] > x[1] { x[0].exp() } else { 2.0 * x[1] }),
            "0 > 1; ! 3; [3, 1] exp 0; [4, 1] `2.0` * 1; 3 ? 5 : 6; 7",
        ),
        (
            quote!(let mut y = x[2]; if x[0] <= 0.0 { y = y * x[1]; } y),
            "0 <= `0.0`; ! 3; [3, 1] 2 * 1; 3 ? 5 : 2; 6",
        ),
        (
            quote!(let mut y = x; if x[0] <= 0.0 { y[1] += 1.0; } y[1] + y[2]),
            "0 <= `0.0`; ! 3; [3, 1] 1 + `1.0`; 3 ? 5 : 1; 6 + 2; 7",
        ),
        (
            quote!(if x[0] > 0.0 { return T::from(1.0); } let y = -x[1]; y),
            "0 > `0.0`; ! 3; [3, 1] `1.0`; [4, 1] - 1; 3 ? 5 : 6; 7",
        ),
        (
            quote!(if x[0] > 0.0 {
                x[0]
            } else if x[1] > 0.0 {
                x[1]
            } else {
                x[2]
            }),
            "0 > `0.0`; ! 3; [4, 1] 1 > `0.0`; [4, 1] ! 5; [4, 1] 4 & 5; [4, 1] 4 & 6; [4, 1] 5 ? 1 : 2; \
             3 ? 0 : 9; 10",
        ),
        (
            quote!(let near = x[0] < 1.0 && !(x[1] >= width) || width == 2.0; if near { x[0] } else { x[1] }),
            "0 < `1.0`; 1 >= `width`; ! 4; 3 & 5; `(width == 2.0)`; 6 | 7; ! 8; 8 ? 0 : 1; 10",
        ),
        (
            quote!(let (a, k) = if x[0] > 0.0 { (x[0], 1.0) } else { (x[0], 2.0) }; a * k),
            "0 > `0.0`; ! 3; 0 * `(ifnumber_3{1.0}else{2.0})`; 5",
        ),
        (quote!(if true && 1 < 2 { x[0] } else { x[1] }), "0"),
        (
            quote!(if x[0] > 0.0 {
                x[0] * (A * B)
            } else {
                x[0] * (width - 1.0)
            }),
            "0 > `0.0`; ! 3; [3, 1] 0 * `__p::known::<::core::primitive::f64,_>(&(A*B))`; \
             [4, 1] 0 * `(width-1.0)`; 3 ? 5 : 6; 7",
        ),
    ] {
        assert_eq!(
            operations(body.clone()).as_deref(),
            Some(expected),
            "{body}"
        );
    }
}

#[test]
fn what_is_done_a_known_number_of_times_is_done() {
    for (body, expected) in [
        (
            quote!(let mut sum = x[0]; for k in 1..3 { sum += x[k] * (k as f64); } sum),
            "1 * `1.0`; 0 + 3; 2 * `2.0`; 4 + 5; 6",
        ),
        (
            quote!(let mut sum = x[0]; for &y in &x[1..] { sum += y; } sum),
            "",
        ),
        (
            quote!(x.iter().zip(&x).rev().map(|(a, b)| *a * b).sum::<T>()),
            "2 * 2; 1 * 1; 3 + 4; 0 * 0; 5 + 6; 7",
        ),
        (
            quote!(let y = x.map(|x| -x); y.iter().fold(y[0], |sum, &y| sum / y)),
            "- 0; - 1; - 2; 3 / 3; 6 / 4; 7 / 5; 8",
        ),
        (
            quote!(let y: [T; 2] = std::array::from_fn(|k| x[k + 1]); y[0] + y[1]),
            "1 + 2; 3",
        ),
        (
            quote!(let mut y = x; for (k, x) in x.into_iter().enumerate() { y[2 - k] = x; } y[0] - y[1]),
            "2 - 1; 3",
        ),
        (
            quote!(for k in 0..x.len() { if k == 2 { x[k] } else { x[0] }; } let n = x.len(); x[n - 1]),
            "2",
        ),
        (
            quote!(let mut y = x[0]; for weight in &[0.5, -1.0f64] { y = y * weight.abs(); } y),
            "0 * `(__p::known::<::core::primitive::f64,_>(&(*(&0.5))).abs())`; \
             3 * `(__p::known::<::core::primitive::f64,_>(&(*(&(-1.0f64)))).abs())`; 4",
        ),
        (
            quote!(let y = x.map(T::exp); y.into_iter().fold(y[0], Real::max)),
            "exp 0; exp 1; exp 2; max 3 3; max 6 4; max 7 5; 8",
        ),
        (
            quote!(let exp = |x: T| -x; x.map(exp)[1]),
            "- 0; - 1; - 2; 4",
        ),
        (quote!(x.map(Other::exp)[1]), ""),
        (quote!(for _ in 0..65 {} x[0]), ""),
        (quote!(for k in 0..n { } x[0]), ""),
        (quote!(for k in 0..3 { if x[k] > 0.0 { break; } } x[0]), ""),
        (quote!('a: for k in 0..3 {} x[0]), ""),
        (quote!(let y: [T; 2] = array::from_fn(|k| x[k]); y[0]), ""),
    ] {
        let expected = (!expected.is_empty()).then_some(expected);
        assert_eq!(operations(body.clone()).as_deref(), expected, "{body}");
    }
}

#[test]
fn the_arms_of_a_match_are_branches() {
    for (body, expected) in [
        (
            quote!(match width {
                1.0 => x[0],
                _ => x[1],
            }),
            "`:: core :: matches ! (width , 1.0)`; ! 3; 3 ? 0 : 1; 5",
        ),
        (
            quote!(match kind {
                Kind::Wide(_) | Kind::Long { .. } => x[0],
                Narrow => -x[1],
                _ => x[2],
            }),
            "`:: core :: matches ! (kind , Kind :: Wide (_) | Kind :: Long { .. })`; ! 3; \
             [4, 1] `:: core :: matches ! (kind , Narrow)`; [4, 1] ! 5; [4, 1] 4 & 5; [7, 2] - 1; [4, 1] 4 & 6; \
             [4, 1] 5 ? 8 : 2; 3 ? 0 : 10; 11",
        ),
        (
            quote!(match (x[0] > 0.0, x[1] > 0.0) {
                (true, a) if a => x[0],
                (false, true) => x[1],
                (_, _) => x[2],
            }),
            "0 > `0.0`; 1 > `0.0`; 3 & 4; ! 5; [6, 1] ! 3; [6, 1] 7 & 4; [6, 1] ! 8; [6, 1] 6 & 8; [6, 1] 6 & 9; \
             [6, 1] 8 ? 1 : 2; 5 ? 0 : 12; 13",
        ),
        (
            quote!(match x[1] {
                y if y > x[0] => y,
                y => y * x[2],
            }),
            "1 > 0; ! 3; [4, 1] 1 * 2; 3 ? 1 : 5; 6",
        ),
        (
            quote!(let k = 2; match k { 0 => x[2], 1 | 2 => x[1], _ => x[0] }),
            "1",
        ),
        // A variant or a constant in small letters would be one.
        (
            quote!(match kind {
                narrow => x[0],
                _ => x[1],
            }),
            "",
        ),
        (
            quote!(match kind {
                Kind::Wide(width) => x[0] * width,
                _ => x[1],
            }),
            "",
        ),
        (
            quote!(match kind {
                Kind { width } => x[0] * width,
                _ => x[1],
            }),
            "",
        ),
        (
            quote!(match COUNT {
                1 => x[0],
                _ => x[1],
            }),
            "`:: core :: matches ! (COUNT , 1)`; ! 3; 3 ? 0 : 1; 5",
        ),
        (
            quote!(match kind.of.mode {
                Mode::Far => x[0],
                Mode::Near => x[1],
            }),
            "`:: core :: matches ! (kind . of . mode , Mode :: Far)`; ! 3; 3 ? 0 : 1; 5",
        ),
        (
            quote!(match x[0] {
                1.0 => x[0],
                _ => x[1],
            }),
            "",
        ),
    ] {
        let mut formula = sample(Some(Row::Of(parse_quote!(3))));
        formula
            .values
            .push((parse_quote!(kind), parse_quote!(Kind)));
        let found = shown(&Group::new(Delimiter::Brace, body.clone()), &formula);
        let expected = (!expected.is_empty()).then_some(expected);
        assert_eq!(found.as_deref(), expected, "{body}");
    }
}

/// Returns functions, most of which cannot be part of a formula.
fn functions() -> Vec<Beside> {
    let functions: [ItemFn; 10] = [
        parse_quote!(
            fn head<T: Real, const N: usize>(a: &[T]) -> T {
                a[N - 1]
            }
        ),
        parse_quote!(
            fn rounded<T: Real>(a: T) -> T {
                let big: f32 = 1e8;
                a * big as f64
            }
        ),
        parse_quote!(
            fn dot<R: Real, const N: usize>(a: [R; N], b: &[R; N]) -> R {
                let scaled = scaled(b, N as f64);
                a.iter().zip(&scaled).map(|(a, b)| *a * *b).sum()
            }
        ),
        parse_quote!(
            fn scaled<R, const N: usize>(a: &[R; N], width: f64) -> [R; N]
            where
                R: Real,
            {
                std::array::from_fn(|k| a[k] * width)
            }
        ),
        parse_quote!(
            fn positive<T: Real>(mut a: T) -> T {
                if a > 0.0 {
                    return a;
                }
                a = -a;
                a * LIMIT
            }
        ),
        parse_quote!(
            fn of_values(width: f64) -> f64 {
                width
            }
        ),
        parse_quote!(
            fn two<T: Real, U: Real>(a: T, b: U) -> T {
                a
            }
        ),
        parse_quote!(
            fn outside<T: Real>(a: T) -> T {
                a * width
            }
        ),
        parse_quote!(
            fn again<T: Real>(a: T) -> T {
                again(a)
            }
        ),
        parse_quote!(
            fn items<T: Real>(a: T) -> T {
                const LIMIT: f64 = 1.0;
                a * LIMIT
            }
        ),
    ];
    let functions = functions.map(|function| Beside {
        path: function.sig.ident.to_string(),
        function,
    });
    let mut functions = functions.to_vec();
    let path = "Half::formula".to_owned();
    let function = parse_quote!(
        fn half<T: Real>(x: T) -> T {
            0.5 * x
        }
    );
    functions.push(Beside { path, function });
    functions
}

#[test]
fn functions_beside_the_formula_are_run() {
    let mut formula = sample(Some(Row::Of(parse_quote!(3))));
    let items = quote!(
        const N: usize = 5;
    )
    .into_iter()
    .collect::<Vec<_>>();
    formula.constants = Constants::among([&items[..]].into_iter());
    formula.functions = functions();
    for (body, expected) in [
        (
            quote!(let [a, b, c] = x; dot([a, b], &[b, c])),
            "1 * `2.0`; 2 * `2.0`; 0 * 3; 1 * 4; 5 + 6; 7",
        ),
        (
            quote!(positive(x[1]) + x[0]),
            "1 > `0.0`; ! 3; [4, 1] - 1; \
             [4, 1] 5 * `__p::known::<::core::primitive::f64,_>(&LIMIT)`; 3 ? 1 : 6; 7 + 0; 8",
        ),
        (quote!(let dot = |a: T| -a; dot(x[0])), "- 0; 3"),
        (quote!(Half::formula(x[2])), "`0.5` * 2; 3"),
        (quote!(half(x[2])), ""),
        (
            quote!(x.map(Half::formula)[1]),
            "`0.5` * 0; `0.5` * 1; `0.5` * 2; 4",
        ),
        (quote!(x.map(positive)[1].turned()), ""),
        (quote!(x[0] * of_values(2.0)), ""),
        (quote!(head::<T, 3>(&x)), ""),
        (quote!(head(&x)), ""),
        (quote!(rounded(x[0])), ""),
        (quote!(two(x[0], x[1])), ""),
        (quote!(outside(x[0])), ""),
        (quote!(again(x[0])), ""),
        (quote!(items(x[0])), ""),
        (quote!(positive(width)), ""),
        (quote!(positive(x[0], x[1])), ""),
        (quote!(math::positive(x[0])), ""),
        (quote!(use math::*;, positive(x[0])), ""),
        (
            quote!(let y = positive(x[0]); const LIMIT: f64 = 2.0; y),
            "",
        ),
    ] {
        let found = shown(&Group::new(Delimiter::Brace, body.clone()), &formula);
        let expected = (!expected.is_empty()).then_some(expected);
        assert_eq!(found.as_deref(), expected, "{body}");
    }
}

#[test]
fn constants_are_known_by_their_file() {
    let mut formula = sample(Some(Row::Of(parse_quote!(N))));
    let items = quote!(
        const N: usize = 3;
        const WEIGHTS: [f64; N] = [0.0; N];
    );
    let items: Vec<_> = items.into_iter().collect();
    let (first, second) = items.split_at(7);
    formula.constants = Constants::among([first, second].into_iter());
    for (body, expected) in [
        (quote!(x[N - 1] * (N as f64)), "2 * `3.0`; 3"),
        (quote!(let y = [x[0]; N]; y[2]), "0"),
        (
            quote!(let mut y = x[0]; for w in &WEIGHTS { y = y * (w * 2.0); } y),
            "0 * `(__p::known::<::core::primitive::f64,_>(&(*(&WEIGHTS[0])))*2.0)`; \
             3 * `(__p::known::<::core::primitive::f64,_>(&(*(&WEIGHTS[1])))*2.0)`; \
             4 * `(__p::known::<::core::primitive::f64,_>(&(*(&WEIGHTS[2])))*2.0)`; 5",
        ),
        (
            quote!(if x[0] > 0.0 { x[0] * WEIGHTS[2] } else { x[1] }),
            "0 > `0.0`; ! 3; [3, 1] 0 * `__p::known::<::core::primitive::f64,_>(&WEIGHTS[2])`; 3 ? 5 : 1; 6",
        ),
    ] {
        let body = Group::new(Delimiter::Brace, body);
        assert_eq!(shown(&body, &formula).as_deref(), Some(expected), "{body}");
    }
    let beyond = quote!(if x[0] > 0.0 { x[0] * WEIGHTS[3] } else { x[1] });
    let beyond = Group::new(Delimiter::Brace, beyond);
    assert_eq!(shown(&beyond, &formula), None);
}

#[test]
fn other_formulas_have_none() {
    for body in [
        quote!(for k in 0..3 { sum += x[k]; } x[0]),
        quote!(cdf(x[0])),
        quote!(x[0].turned()),
        quote!(x[0].exp(1.0)),
        quote!(x[0] * 2),
        quote!(x[0].max(0)),
        quote!(x[0] + x),
        quote!(x[0] % x[1]),
        quote!(x[k]),
        quote!(x[3]),
        quote!(y),
        quote!(x),
        quote!(2.0),
        quote!(return x[0];),
        quote!(assert!(width > 0.0); x[0]),
        quote!(let mut n = x[0]; let mut add = |z| n = n + z; add(x[1]); n),
        quote!(let Some(y) = x[0] else { return x[0] }; y),
        quote!(if x[0] > 0 { x[0] } else { x[1] }),
        quote!(if 0.0 < x[0] { x[0] } else { x[1] }),
        quote!(if x[0] > 0.0 { return x[0] } else { x[1] }),
        quote!(if x[0] { x[0] } else { x[1] }),
        quote!(if let true = x[0] > 0.0 { x[0] } else { x[1] }),
        quote!(let n = if x[0] > 0.0 { 1 } else { 2 }; x[n]),
        quote!(let n: usize = 3; if x[0] > 0.0 { x[0] * ((n - width as usize) as f64) } else { x[1] }),
        quote!(if x[0] > 0.0 { x[0] * HEIGHTS[3] } else { x[1] }),
        quote!(if x[0] > 0.0 {
            x[0] * width.clamp(0.0, LIMIT)
        } else {
            x[1]
        }),
        quote!(if x[0] > 0.0 { x[0] } else { panic!() }),
        quote!(let f = |a: T| a; let g = if x[0] > 0.0 { |a: T| -a } else { f }; g(x[0])),
        quote!(let n: i32 = if x[0] > 0.0 { 1 } else { 2 }; x[0].powi(n)),
        quote!(x[0] * 2.0f32),
        quote!(let one: f32 = 1.0; x[0] * (one as f64)),
        quote!(let half: f64 = 1; x[0] * half),
        quote!(let n: u8 = 200; x[0] * (n as i8 as f64)),
        quote!(let n: u64 = 5_000_000_000; x[0] * (n as f64)),
        quote!(x[0] * (-3).abs() as f64),
        quote!(x[0] * (true as f64)),
        quote!(x[0] * width[0]),
        quote!(x[0] * width * 2),
        quote!(x[0].powi(x[1])),
        quote!({
            const TWO: f64 = 2.0;
            x[0] * TWO
        }),
    ] {
        assert_eq!(operations(body.clone()), None, "{body}");
    }
    // A closure has all that are before it.
    let closures = (0..24).map(|index| {
        let name = quote::format_ident!("closure_{index}");
        quote!(let #name = |a: T| a + 1.0;)
    });
    assert!(operations(quote!(#(#closures)* closure_23(x[0]))).is_some());
    // Each time, twice as many operations.
    let doubled = quote!(let y = double(double(double(y))););
    let many = std::iter::repeat_n(doubled, 4);
    let body = quote!(let double = |y: T| y * y + y; let y = x[0]; #(#many)* y);
    assert!(operations(body).is_some());
    let sum = std::iter::repeat_n(quote!(+ x[0]), DEPTH);
    assert_eq!(operations(quote!(x[1] #(#sum)*)), None);
    let statements = std::iter::repeat_n(quote!(let y = y + x[0];), OPERATIONS + 1);
    assert_eq!(operations(quote!(let y = x[1]; #(#statements)* y)), None);
}
