"use strict";
(() => {
  const main = document.querySelector("main");
  const drawing = main.querySelector("svg");
  const card = document.getElementById("card");
  const boxes = [...drawing.querySelectorAll(".box")];
  const ends = (box, end) => [...drawing.querySelectorAll(`[data-${end}="${box.id}"]`)];

  // What there is to read on a box.
  const move = (x, y) => {
    card.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - card.offsetWidth - 8))}px`;
    card.style.top = `${Math.max(8, Math.min(y + 14, innerHeight - card.offsetHeight - 8))}px`;
  };
  const light = (box, on) =>
    [...ends(box, "from"), ...ends(box, "to")].forEach((arc) => arc.classList.toggle("lit", on));
  for (const box of boxes) {
    const title = box.querySelector("title");
    const text = title.textContent;
    title.remove();
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", text);
    const show = (x, y) => {
      card.textContent = text;
      card.style.display = "block";
      light(box, true);
      move(x, y);
    };
    const hide = () => {
      card.style.display = "none";
      light(box, false);
    };
    box.addEventListener("pointerenter", (event) => show(event.clientX, event.clientY));
    box.addEventListener("pointermove", (event) => move(event.clientX, event.clientY));
    box.addEventListener("pointerleave", hide);
    box.addEventListener("focus", () => {
      const place = box.getBoundingClientRect();
      show(place.right, place.top);
    });
    box.addEventListener("blur", hide);
  }

  // How large the drawing is. The point at x and y of the window stays where it is.
  const [width, height] = [drawing.width.baseVal.value, drawing.height.baseVal.value];
  const shown = document.getElementById("scale");
  let scale = 1;
  const zoom = (next, x, y) => {
    const before = drawing.getBoundingClientRect();
    const [across, down] = [(x - before.left) / scale, (y - before.top) / scale];
    scale = Math.min(4, Math.max(0.05, next));
    drawing.style.width = `${width * scale}px`;
    drawing.style.height = `${height * scale}px`;
    shown.textContent = `${Math.round(100 * scale)} %`;
    const after = drawing.getBoundingClientRect();
    main.scrollLeft += after.left + across * scale - x;
    main.scrollTop += after.top + down * scale - y;
  };
  const zoomBy = (factor) => {
    const view = main.getBoundingClientRect();
    zoom(factor * scale, view.left + view.width / 2, view.top + view.height / 2);
  };
  const whole = () => Math.min(1, main.clientWidth / width, main.clientHeight / height);
  const fit = () => zoom(whole(), 0, 0);
  const full = () => zoomBy(1 / scale);
  const keys = { "+": () => zoomBy(1.25), "=": () => zoomBy(1.25), "-": () => zoomBy(0.8), 0: full, f: fit };
  for (const [id, act] of [["in", keys["+"]], ["out", keys["-"]], ["scale", full], ["fit", fit]]) {
    document.getElementById(id).addEventListener("click", act);
  }
  document.querySelector(".zoom").hidden = false;
  main.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(scale * Math.exp(-event.deltaY / 400), event.clientX, event.clientY);
    },
    { passive: false },
  );

  // The arrow keys go from box to box.
  const go = (box, end, other) => {
    const [arc] = ends(box, end);
    const next = arc && document.getElementById(arc.dataset[other]);
    if (!next) return false;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
    return true;
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const box = document.activeElement.closest(".box");
    let done = true;
    if (event.key in keys) keys[event.key]();
    else if (event.key === "Escape" && box) box.blur();
    else if (event.key === "ArrowUp" && box) done = go(box, "to", "from");
    else if (event.key === "ArrowDown" && box) done = go(box, "from", "to");
    else done = false;
    if (done) event.preventDefault();
  });

  // The paper is moved with the mouse; fingers do that without a script.
  let grabbed = null;
  main.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType !== "mouse" || event.target.closest(".box")) return;
    const bar = main.getBoundingClientRect();
    if (event.clientX > bar.left + main.clientWidth || event.clientY > bar.top + main.clientHeight) return;
    grabbed = [event.clientX + main.scrollLeft, event.clientY + main.scrollTop];
    main.setPointerCapture(event.pointerId);
    main.classList.add("moves");
  });
  main.addEventListener("pointermove", (event) => {
    if (!grabbed) return;
    main.scrollLeft = grabbed[0] - event.clientX;
    main.scrollTop = grabbed[1] - event.clientY;
  });
  for (const end of ["pointerup", "pointercancel"]) {
    main.addEventListener(end, () => {
      grabbed = null;
      main.classList.remove("moves");
    });
  }

  // A drawing that is a little too large is made to fit; a larger one begins as small as can be read, at the
  // highest of its boxes that is nearest to the middle.
  const across = Math.min(1, Math.max(0.7, main.clientWidth / width));
  zoom(whole() > 0.8 ? whole() : across, 0, 0);
  const middle = drawing.getBoundingClientRect();
  const [center, least] = [middle.left + middle.width / 2, { top: Infinity }];
  for (const box of boxes) {
    const { top, left, width: wide } = box.getBoundingClientRect();
    const aside = Math.abs(left + wide / 2 - center);
    if (top < least.top || (top === least.top && aside < least.aside)) Object.assign(least, { top, aside, box });
  }
  if (least.box) {
    const place = least.box.getBoundingClientRect();
    main.scrollTop = 0;
    main.scrollLeft += place.left + place.width / 2 - main.clientWidth / 2;
  }
})();
