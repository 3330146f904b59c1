"use strict";
(() => {
  const $ = (id) => document.getElementById(id);

  /* Folded parts. */
  const folded = () => document.querySelectorAll("main details");
  $("open-all")?.addEventListener("click", () => folded().forEach((part) => { part.open = true; }));
  $("close-all")?.addEventListener("click", () => folded().forEach((part) => { part.open = false; }));
  const reveal = (element) => {
    for (let up = element; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
  };
  let closedForPrint = [];
  addEventListener("beforeprint", () => {
    closedForPrint = [...folded()].filter((part) => !part.open);
    closedForPrint.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => closedForPrint.forEach((part) => { part.open = false; }));
  const menu = document.querySelector(".menu");
  document.addEventListener("click", (event) => { if (menu && !menu.contains(event.target)) menu.open = false; });

  /* Anchors: #v12, #v12-3. What has no part of its own leads to the one before it. */
  const nearest = (name) => {
    const exact = $(name);
    if (exact) return exact;
    const wanted = Number(/^v(\d+)/.exec(name)?.[1]);
    if (!wanted) return null;
    let best = null, version = 0;
    for (const part of document.querySelectorAll("main [id^='v']")) {
      const found = parseInt(part.id.slice(1), 10);
      if (found <= wanted && found > version) { best = part; version = found; }
    }
    return best;
  };
  const go = () => {
    const target = nearest(location.hash.slice(1));
    if (!target) return;
    reveal(target);
    target.scrollIntoView({ block: "start" });
  };
  addEventListener("hashchange", go);
  if (location.hash) go();

  /* Where one is, in the table of contents. */
  const entries = new Map();
  document.querySelectorAll(".contents a").forEach((link) => {
    const target = nearest(link.getAttribute("href").slice(1))?.closest(".turn");
    if (target) entries.set(target, link);
  });
  if (entries.size && "IntersectionObserver" in window) {
    const observer = new IntersectionObserver((seen) => {
      const now = seen.filter((entry) => entry.isIntersecting).pop();
      if (!now) return;
      entries.forEach((link) => link.removeAttribute("aria-current"));
      entries.get(now.target).setAttribute("aria-current", "location");
    }, { rootMargin: "-5% 0px -70% 0px" });
    entries.forEach((_, part) => observer.observe(part));
  }

  /* Search. The text of each part is read once; hits are highlighted without changing the page. */
  const field = $("search");
  if (!field) return;
  const count = $("count"), LIMIT = 5000;
  const items = [...document.querySelectorAll("[data-find]")];
  let parts = null, hits = [], at = -1;
  const read = () => [...document.querySelectorAll("main .turn, main .seen")].map((part) => {
    const nodes = [], starts = [];
    let text = "";
    const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      nodes.push(walker.currentNode);
      starts.push(text.length);
      text += walker.currentNode.data;
    }
    return { nodes, starts, text: text.toLowerCase() };
  });
  const place = ({ nodes, starts }, offset) => {
    let low = 0, high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle] <= offset) low = middle; else high = middle - 1;
    }
    return [nodes[low], Math.min(offset - starts[low], nodes[low].length)];
  };
  const rangeOf = ([part, from, length]) => {
    const range = new Range();
    range.setStart(...place(part, from));
    const [node, offset] = place(part, from + length - 1);
    range.setEnd(node, Math.min(offset + 1, node.length));
    return range;
  };
  const paint = (name, ranges) => {
    if (!("highlights" in CSS)) return;
    if (ranges.length) CSS.highlights.set(name, new Highlight(...ranges)); else CSS.highlights.delete(name);
  };
  const show = () => {
    document.querySelector(".found-now")?.classList.remove("found-now");
    const none = hits.length === 0;
    $("next").disabled = $("previous").disabled = none;
    count.value = field.value.trim() ? (none ? "no hits" : `${at + 1} of ${hits.length}${hits.length === LIMIT ? "+" : ""}`) : "";
    paint("now", none ? [] : [rangeOf(hits[at])]);
    if (none) return;
    const range = rangeOf(hits[at]), element = range.startContainer.parentElement;
    reveal(element);
    element.closest(".turn, .seen").style.contentVisibility = "visible";
    if (!("highlights" in CSS)) element.classList.add("found-now");
    const box = range.getBoundingClientRect();
    if (box.top < 80 || box.bottom > innerHeight - 40) element.scrollIntoView({ block: "center" });
  };
  const search = () => {
    const wanted = field.value.trim().toLowerCase();
    parts ??= read();
    hits = [];
    for (const part of wanted ? parts : []) {
      for (let from = part.text.indexOf(wanted); from >= 0 && hits.length < LIMIT; from = part.text.indexOf(wanted, from + wanted.length)) hits.push([part, from, wanted.length]);
    }
    at = hits.length ? 0 : -1;
    paint("found", hits.slice(0, 1000).map(rangeOf));
    show();
  };
  const filter = () => {
    const wanted = field.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    items.forEach((item) => {
      item.hidden = !wanted.every((word) => item.dataset.find.includes(word));
      left += item.hidden ? 0 : 1;
    });
    document.querySelectorAll("[data-group]").forEach((group) => { group.hidden = !group.querySelector("[data-find]:not([hidden])"); });
    count.value = wanted.length ? `${left} of ${items.length}` : "";
  };
  const step = (by) => { if (hits.length) { at = (at + by + hits.length) % hits.length; show(); } };
  const begin = items.length ? filter : search;
  let waiting = 0;
  field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(begin, 120); });
  field.form.addEventListener("submit", (event) => event.preventDefault());
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { field.value = ""; begin(); field.blur(); }
    if (event.key !== "Enter") return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  });
  $("next")?.addEventListener("click", () => step(1));
  $("previous")?.addEventListener("click", () => step(-1));
  document.addEventListener("keydown", (event) => {
    if (event.target.closest?.("input, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") { event.preventDefault(); field.focus(); field.select(); }
    if (event.key === "Escape" && menu) menu.open = false;
    if (event.key === "j" || event.key === "k") jump(event.key === "j" ? 1 : -1);
  });
  const jump = (by) => {
    const turns = [...entries.keys()];
    const tops = turns.map((turn) => turn.getBoundingClientRect().top - 100);
    const index = by > 0 ? tops.findIndex((top) => top > 5) : tops.findLastIndex((top) => top < -5);
    turns[index]?.scrollIntoView({ block: "start" });
  };
})();
