//! The page of all functions in a browser.

use std::collections::BTreeSet;

use pullback::catalogue;

use super::tags;
use crate::browser;

/// Opens the page at `fragment`; returns the ids of the functions that are shown, and the page.
fn shown(fragment: &str) -> (BTreeSet<String>, String) {
    let opened = browser::open(&catalogue::html(), fragment, 1200);
    assert_eq!(opened.console, [""; 0], "the console is empty");
    let cards = tags(&opened.page).into_iter();
    let cards: Vec<&str> = cards.filter(|tag| tag.starts_with("article ")).collect();
    assert_eq!(cards.len(), catalogue().len(), "{}", opened.page);
    let shown = cards.into_iter().filter(|card| !card.contains("hidden"));
    let id = |card: &str| card.split('"').nth(1).expect("an id").to_owned();
    (shown.map(id).collect(), opened.page)
}

#[test]
fn the_page_searches_in_a_browser() {
    if !browser::is_there() {
        return;
    }
    let (all, page) = shown("");
    assert_eq!(all.len(), catalogue().len());
    assert!(page.contains(&format!("{0} of {0}", all.len())));
    let (conv, page) = shown("#q=conv");
    assert!(
        conv.contains("autograd_core.ops.conv.Conv")
            && !conv.contains("autograd_core.basic.neg.Neg")
    );
    assert!(page.contains(&format!("{} of {}", conv.len(), all.len())));
    let (both, _) = shown("#q=CONV%20transpose");
    assert!(both.contains("autograd_core.ops.conv.ConvTranspose") && both.is_subset(&conv));
    let (none, _) = shown("#q=%3Cnothing%3E");
    assert!(none.is_empty(), "{none:?}");
}

/// Searches with the keyboard, then follows a link to a function that was not found.
const USE: &str = r"
const steps = {};
const box = document.getElementById('search');
const note = (step) => {
  steps[step] = {
    searched: box.value,
    cards: document.querySelectorAll('article:not([hidden])').length,
    names: document.querySelectorAll('.index a').length - document.querySelectorAll('.index [hidden] a').length,
    nothing: !document.getElementById('nothing').hidden,
    focus: document.activeElement.id || document.activeElement.closest('[id]')?.id,
  };
};
const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
const type = (text) => {
  box.value = text;
  box.dispatchEvent(new Event('input'));
};
press('/');
note('slash');
type('conv transpose');
note('typed');
press('Enter');
note('entered');
box.focus();
type('no such function');
note('nothing');
press('Escape');
note('escaped');
type('conv transpose');
addEventListener('hashchange', () => {
  note('followed');
  // Everything is shown, and nothing but tables and code may be wider than the window.
  const wide = [...document.querySelectorAll('body *')].filter((element) => element.getBoundingClientRect().right > innerWidth + 1);
  report({ steps, width: innerWidth, wide: wide.filter((element) => !element.closest('.table, pre')).map((element) => element.textContent), scroll: document.documentElement.scrollWidth });
});
location.hash = '#autograd_core.basic.neg.Neg';
";

#[test]
fn the_page_is_used_with_keys_and_fits_a_narrow_window_in_a_browser() {
    if !browser::is_there() {
        return;
    }
    let page = browser::with_script(&catalogue::html(), USE);
    let opened = browser::open(&page, "", 500);
    assert_eq!(opened.console, [""; 0], "the console is empty");
    let report = opened.report();
    let all = catalogue().len();
    let step = |name: &str| &report["steps"][name];
    assert_eq!(step("slash")["focus"], "search");
    assert_eq!(step("typed")["cards"], step("typed")["names"]);
    assert_eq!(step("typed")["nothing"], false);
    let found = step("typed")["cards"].as_u64().expect("a count");
    assert!((1..10).contains(&found), "{found} functions");
    assert_eq!(
        step("entered")["focus"],
        "autograd_core.ops.conv.ConvTranspose"
    );
    assert_eq!(
        (&step("nothing")["cards"], &step("nothing")["nothing"]),
        (&0.into(), &true.into())
    );
    assert_eq!(
        (&step("escaped")["cards"], &step("escaped")["searched"]),
        (&all.into(), &"".into())
    );
    assert_eq!(step("escaped")["names"], all);
    // A link leads to what the search had hidden.
    assert_eq!(step("followed")["cards"], all);
    assert_eq!(report["wide"], serde_json::json!([]), "{}", report["width"]);
    assert!(report["scroll"].as_u64() <= report["width"].as_u64());
}
