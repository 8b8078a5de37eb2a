//! Writes a formula as MathML, by the crate pulldown-latex.
//!
//! The events of the reader are checked before anything is written: an error in the formula is found here and does not
//! become a part of the page, and an event that needs a style sheet is refused.

use std::thread;

use pulldown_latex::config::{DisplayMode, RenderConfig};
use pulldown_latex::event::{ArrayColumn, Content, EnvironmentFlow, Event, Grouping, StateChange};
use pulldown_latex::{Parser, ParserError, Storage, push_mathml};

use crate::tidy::one_line;

/// The largest number of bytes of a formula.
const LONGEST: usize = 4096;

/// The size of the reader's stack: each nested command takes some ten kilobytes in a debug build.
const STACK: usize = 128 << 20;

/// The commands that define commands. Formulas do not need them, and their expansion has no bound.
const DEFINITIONS: [&str; 6] = [
    "def",
    "let",
    "futurelet",
    "newcommand",
    "renewcommand",
    "providecommand",
];

/// Returns one `<math>` element on one line, or what is wrong with the formula.
pub(crate) fn to_mathml(source: &str) -> Result<String, String> {
    if source.len() > LONGEST {
        let length = source.len();
        return Err(format!(
            "this formula is too long: it has {length} bytes, and at most {LONGEST} are allowed\n= help: write several formulas"
        ));
    }
    if let Some(command) = commands(source).find(|command| DEFINITIONS.contains(command)) {
        return Err(format!(
            "`\\{command}` is not allowed in a formula\n= help: write out its definition"
        ));
    }
    // Its number is read byte by byte, in the middle of a letter too.
    if commands(source).any(|command| command == "char") {
        return Err(
            "`\\char` is not allowed in a formula\n= help: write the character itself".to_owned(),
        );
    }
    let written = thread::scope(|scope| {
        let reader = thread::Builder::new().stack_size(STACK);
        let reader = reader.spawn_scoped(scope, || write(source));
        reader.map(thread::ScopedJoinHandle::join)
    });
    match written {
        Ok(Ok(written)) => one_line(&written?),
        Ok(Err(_)) => Err(
            "`math!` failed on this formula, which is a bug in the macro; please report it"
                .to_owned(),
        ),
        Err(error) => Err(format!("`math!` needs a thread: {error}")),
    }
}

fn write(source: &str) -> Result<String, String> {
    let storage = Storage::new();
    let mut events = Vec::new();
    for event in Parser::new(source, &storage) {
        let event = event.map_err(|error| unreadable(&error))?;
        if let Some(refused) = refused(&event) {
            return Err(refused);
        }
        // A negative space needs a style, and a space without a width shows nothing.
        let is_lost = matches!(event, Event::Space { width, .. } if width.is_none_or(|width| width.value < 0.0));
        if !is_lost {
            events.push(event);
        }
    }
    let shows = |event: &Event<'_>| !matches!(event, Event::Space { .. } | Event::StateChange(_));
    if !events.iter().any(shows) {
        return Err("this formula is empty".to_owned());
    }
    let mut written = String::new();
    let config = RenderConfig {
        display_mode: DisplayMode::Block,
        ..RenderConfig::default()
    };
    let events = events.into_iter().map(Ok::<_, ParserError>);
    push_mathml(&mut written, events, config).map_err(|error| error.to_string())?;
    Ok(written)
}

/// Returns the names of the commands, such as `frac`.
fn commands(source: &str) -> impl Iterator<Item = &str> {
    source.split('\\').skip(1).map(|rest| {
        let end = rest.find(|letter: char| !letter.is_ascii_alphabetic());
        &rest[..end.unwrap_or(rest.len())]
    })
}

/// Returns an error of the reader as a message of the macro.
fn unreadable(error: &ParserError) -> String {
    let kind = std::error::Error::source(error).map_or_else(String::new, ToString::to_string);
    let kind = kind
        .replace("unkown", "unknown")
        .replace("{{", "{")
        .replace("}}", "}");
    // The text before the line of marks below it.
    let shown = error.to_string();
    let lines: Vec<&str> = shown.lines().collect();
    let marks = lines.iter().position(|line| line.contains('^'));
    let near = marks.and_then(|marks| lines[..marks].last());
    let near = near.map_or("", |line| line.trim_start_matches(['│', '…', ' ']).trim());
    let place = if near.is_empty() {
        String::new()
    } else {
        format!(", at `{near}`")
    };
    format!(
        "this formula cannot be read: {kind}{place}\n= help: `math!` takes the mathematics of LaTeX, without `$`"
    )
}

/// Returns the reason why an event cannot be shown; `None` if it can.
fn refused(event: &Event<'_>) -> Option<String> {
    let refused = match event {
        Event::StateChange(StateChange::Color(_)) => {
            "a formula cannot choose colors\n= help: remove the command"
        }
        Event::EnvironmentFlow(EnvironmentFlow::StartLines { .. }) => LINES,
        Event::EnvironmentFlow(EnvironmentFlow::NewLine {
            horizontal_lines, ..
        }) if !horizontal_lines.is_empty() => LINES,
        Event::EnvironmentFlow(EnvironmentFlow::NewLine {
            spacing: Some(_), ..
        }) => {
            "`math!` cannot change the distance between lines\n= help: write `\\\\` without a length"
        }
        Event::Begin(Grouping::Array(columns))
            if columns
                .iter()
                .any(|column| matches!(column, ArrayColumn::Separator(_))) =>
        {
            LINES
        }
        Event::Content(Content::Function(name))
            if !name
                .chars()
                .all(|letter| letter.is_alphanumeric() || " -".contains(letter)) =>
        {
            return Some(format!(
                "`{name}` is not the name of an operator\n= help: write letters, as in `\\operatorname{{softmax}}`"
            ));
        }
        _ => return None,
    };
    Some(refused.to_owned())
}

const LINES: &str = "`math!` cannot draw lines in tables\n= help: remove `\\hline` and `|`";
