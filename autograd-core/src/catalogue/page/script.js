"use strict";
(() => {
  const box = document.getElementById("search");
  const found = document.getElementById("found");
  const sections = [...document.querySelectorAll("section")];
  const cards = [...document.querySelectorAll("article")].map((card) => ({
    card,
    text: card.textContent.toLowerCase(),
  }));

  const search = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const { card, text } of cards) {
      card.hidden = !words.every((word) => text.includes(word));
      count += card.hidden ? 0 : 1;
    }
    for (const section of sections) {
      section.hidden = !section.querySelector("article:not([hidden])");
    }
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

  box.parentElement.hidden = false;
  search();
  fromAddress();
  window.addEventListener("hashchange", fromAddress);
  box.addEventListener("input", () => {
    search();
    const fragment = box.value ? `#q=${encodeURIComponent(box.value)}` : "#";
    try {
      history.replaceState(null, "", fragment);
    } catch {
      // Some browsers leave the address of a file alone; the search needs none.
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== box) {
      event.preventDefault();
      box.focus();
    } else if (event.key === "Escape" && document.activeElement === box) {
      box.value = "";
      box.dispatchEvent(new Event("input"));
    }
  });
})();
