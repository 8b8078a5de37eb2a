"use strict";
(() => {
  const box = document.getElementById("search");
  const found = document.getElementById("found");
  const nothing = document.getElementById("nothing");
  const sections = [...document.querySelectorAll("section")];
  const lists = [...document.querySelectorAll(".index li:has(ul)")];
  const names = new Map([...document.querySelectorAll(".index a")].map((link) => [link.getAttribute("href").slice(1), link.parentElement]));
  const cards = [...document.querySelectorAll("article")].map((card) => ({
    card,
    name: names.get(card.id),
    text: card.textContent.toLowerCase(),
  }));

  const search = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const { card, name, text } of cards) {
      card.hidden = !words.every((word) => text.includes(word));
      if (name) name.hidden = card.hidden;
      count += card.hidden ? 0 : 1;
    }
    for (const section of sections) {
      section.hidden = !section.querySelector("article:not([hidden])");
    }
    for (const list of lists) {
      list.hidden = !list.querySelector("li:not([hidden])");
    }
    nothing.hidden = count > 0 || cards.length === 0;
    found.textContent = `${count} of ${cards.length}`;
  };

  const fromAddress = () => {
    let fragment = location.hash.slice(1);
    try {
      fragment = decodeURIComponent(fragment);
    } catch {
      // A lone `%` stands for itself.
    }
    if (fragment.startsWith("q=")) {
      box.value = fragment.slice(2);
      search();
      return;
    }
    // A link leads to its function, whatever was searched for.
    const target = document.getElementById(fragment);
    if (target && target.closest("[hidden]")) {
      box.value = "";
      search();
      target.scrollIntoView();
    }
  };

  const changed = () => {
    search();
    const fragment = box.value ? `#q=${encodeURIComponent(box.value)}` : "#";
    try {
      history.replaceState(null, "", fragment);
    } catch {
      // Some browsers leave the address of a file alone; the search needs none.
    }
  };
  const clear = () => {
    box.value = "";
    changed();
    box.focus();
  };

  box.parentElement.hidden = false;
  search();
  fromAddress();
  window.addEventListener("hashchange", fromAddress);
  box.addEventListener("input", () => {
    changed();
    // What is found begins below the box, wherever the page was scrolled to.
    const top = box.parentElement.nextElementSibling.getBoundingClientRect().top;
    if (top < 0) window.scrollBy(0, top - 80);
  });
  nothing.querySelector("button").addEventListener("click", clear);
  document.addEventListener("keydown", (event) => {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.key === "/" && isPlain && document.activeElement !== box) {
      event.preventDefault();
      box.select();
      box.focus();
    } else if (event.key === "Escape" && document.activeElement === box) {
      clear();
    } else if (event.key === "Enter" && document.activeElement === box) {
      document.querySelector("article:not([hidden]) h3 a")?.focus();
    }
  });
})();
