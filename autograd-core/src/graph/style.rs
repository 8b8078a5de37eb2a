//! Colours and fonts of drawings and pages.

use super::picture::Kind;

/// The fonts that systems have for their own surfaces.
pub(super) const FONTS: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif";

/// What a box of this kind is called in the style sheet.
pub(super) fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Function => "function",
        Kind::Leaf => "leaf",
        Kind::Output => "output",
        Kind::Constant => "constant",
        Kind::Elided => "elided",
    }
}

/// Light, for viewers that know no media queries too; then dark.
pub(super) const DRAWING: &str = "\
.paper{fill:#ffffff}
text{fill:#1d2433}
.title{font-size:13px;font-weight:600}
.line,.note,.label,.times{font-size:11px}
.line{fill:#4a556b}
.where,.note{fill:#717c93}
.shape{stroke-width:1.25}
.function .shape{fill:#f2f5fb;stroke:#b7c2d8}
.leaf .shape{fill:#e9f6ee;stroke:#8fc4a4}
.output .shape{fill:#fff3dc;stroke:#ddb25f}
.constant .shape{fill:#f6f6f7;stroke:#b9bcc4;stroke-dasharray:4 3}
.elided .shape{fill:#fbecec;stroke:#d79a9a;stroke-dasharray:4 3}
.times{fill:#5b4bb2;font-weight:600}
.frame{fill:#7a6ad6;fill-opacity:0.07;stroke:#a79ce4;stroke-width:1.25;stroke-dasharray:6 4}
.arc{fill:none;stroke:#94a0b8;stroke-width:1.25}
.tip{fill:#94a0b8}
.label{fill:#4a556b;stroke:#ffffff;stroke-width:3px;stroke-linejoin:round;paint-order:stroke}
.frame-label{fill:#5b4bb2;font-weight:600}
@media (prefers-color-scheme: dark){
.paper{fill:#12151c}
text{fill:#e8ebf2}
.line{fill:#b3bccd}
.where,.note{fill:#8b95a9}
.function .shape{fill:#1d2330;stroke:#46526a}
.leaf .shape{fill:#15291e;stroke:#3f7a58}
.output .shape{fill:#2e2512;stroke:#8a6a2c}
.constant .shape{fill:#1c1e23;stroke:#565b66}
.elided .shape{fill:#2d1a1c;stroke:#7d4a4e}
.times{fill:#b3a7f5}
.frame{fill:#8f7ff0;fill-opacity:0.08;stroke:#655aa6}
.arc{stroke:#667289}
.tip{fill:#667289}
.label{fill:#b3bccd;stroke:#12151c}
.frame-label{fill:#b3a7f5}
}
";

/// Beside the drawing's, for the page around it.
pub(super) const PAGE: &str = "\
:root{color-scheme:light dark;--paper:#ffffff;--ink:#1d2433;--soft:#5d687e;--card:#ffffff;--line:#d5dbe7}
@media (prefers-color-scheme: dark){
:root{--paper:#12151c;--ink:#e8ebf2;--soft:#97a1b5;--card:#1b202b;--line:#343d4f}
}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font-size:14px;line-height:1.45}
header{padding:18px 24px 0}
h1{font-size:17px;margin:0 0 2px}
p{margin:0;color:var(--soft)}
main{padding:12px 24px 32px;overflow:auto}
svg{display:block}
.box{cursor:default;outline:none}
.box:hover .shape,.box:focus .shape{stroke-width:2.25}
.lit{stroke:#5b4bb2;stroke-width:2.5}
#card{position:fixed;display:none;max-width:34em;padding:8px 12px;border:1px solid var(--line);border-radius:8px;\
background:var(--card);box-shadow:0 6px 24px rgb(0 0 0 / 18%);white-space:pre-line;pointer-events:none}
#card::first-line{font-weight:600}
@media (prefers-color-scheme: dark){.lit{stroke:#b3a7f5}}
";

/// Shows what is to be read on a box under the pointer, or with the focus, and its arcs.
pub(super) const SCRIPT: &str = "\
const card = document.getElementById('card');
const lit = (box, on) => document.querySelectorAll(`[data-from=\"${box}\"],[data-to=\"${box}\"]`)
  .forEach(arc => arc.classList.toggle('lit', on));
const move = (x, y) => {
  card.style.left = Math.max(8, Math.min(x + 14, innerWidth - card.offsetWidth - 8)) + 'px';
  card.style.top = Math.max(8, Math.min(y + 14, innerHeight - card.offsetHeight - 8)) + 'px';
};
for (const box of document.querySelectorAll('.box')) {
  const title = box.querySelector('title');
  const text = title.textContent;
  title.remove();
  box.setAttribute('aria-label', text);
  const show = (x, y) => {
    card.textContent = text;
    card.style.display = 'block';
    lit(box.id, true);
    move(x, y);
  };
  const hide = () => {
    card.style.display = 'none';
    lit(box.id, false);
  };
  box.addEventListener('pointerenter', event => show(event.clientX, event.clientY));
  box.addEventListener('pointermove', event => move(event.clientX, event.clientY));
  box.addEventListener('pointerleave', hide);
  box.addEventListener('focus', () => {
    const place = box.getBoundingClientRect();
    show(place.right, place.top);
  });
  box.addEventListener('blur', hide);
}
";
