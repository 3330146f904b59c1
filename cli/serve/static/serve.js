"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const html = document.documentElement;
  html.classList.add("js");
  const main = $("main"), slider = $("slider"), help = $("help");
  const isTravel = document.body.classList.contains("travel");
  const toast = (text) => {
    $("toast").textContent = text;
    clearTimeout(toast.timer);
    toast.timer = setTimeout(() => { $("toast").textContent = ""; }, 4000);
  };

  /* Travel: a moment takes the place of another, and its address that of the page. */
  const moment = () => $("moment");
  const go = (address, push = true) => htmx.ajax("GET", address, { source: $("traveler"), target: "#moment", swap: "outerHTML", ...(push ? { push: address } : {}) });
  const at = (version) => { const address = new URL(location.pathname, location.href); address.searchParams.set("at", version); return address.pathname + address.search; };

  const mark = (version) => {
    document.querySelector(".turn.marked")?.classList.remove("marked");
    const parts = [...document.querySelectorAll("#moment [id^='v']")];
    const number = (part) => parseInt(part.id.slice(1), 10);
    const before = parts.filter((part) => number(part) <= version).sort((a, b) => number(b) - number(a));
    const best = before[0] ?? parts[0];
    if (!best) return;
    best.closest(".turn")?.classList.add("marked");
    const row = best.closest(".row");
    const isNear = row && best.getBoundingClientRect().top - row.getBoundingClientRect().top < 280;
    (isNear ? row : best).scrollIntoView({ block: "start" });
    main.scrollTop -= innerWidth > 832 ? 48 : 0;
  };
  const settle = () => {
    const now = moment();
    if (!now) return;
    const version = Number(now.dataset.version);
    slider.max = now.dataset.last;
    if (document.activeElement !== slider || !settle.dragging) slider.value = version;
    slider.setAttribute("aria-valuetext", $("where").innerText.replace(/\s+/g, " ").trim());
    if (now.dataset.near) mark(Number(now.dataset.near)); else main.scrollTop = main.scrollHeight;
  };

  /* What is put in above leaves what one reads where it is. */
  let fromBottom = null;
  document.addEventListener("htmx:beforeSwap", (event) => {
    const up = event.detail.target.classList?.contains("up") && main?.contains(event.detail.target);
    fromBottom = up ? main.scrollHeight - main.scrollTop : null;
    if (event.detail.xhr.status >= 400) {
      event.detail.shouldSwap = false;
      toast(new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html").body.innerText.trim() || "That failed.");
    }
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (fromBottom !== null) { main.scrollTop = main.scrollHeight - fromBottom; fromBottom = null; }
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target.id === "moment" || event.detail.elt?.id === "moment") settle();
  });
  document.addEventListener("htmx:sendError", () => toast("The server does not answer. Is foldlog serve running?"));

  document.addEventListener("click", (event) => {
    const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
    const link = event.target.closest?.("a[href]");
    if (!link || !plain) return;
    const anchor = /^#v(\d+)/.exec(link.getAttribute("href") ?? "");
    const near = link.dataset.near ?? (isTravel && anchor ? anchor[1] : undefined);
    if (near !== undefined) {
      event.preventDefault();
      const exact = document.getElementById(`v${near}`);
      if (exact) mark(Number(near));
      else {
        const { version, last } = moment().dataset;
        const address = new URL(at(Number(near) > Number(version) ? last : version), location.href);
        address.searchParams.set("near", near);
        go(address.pathname + address.search);
      }
      $("hits")?.replaceChildren();
    } else if ("travel" in link.dataset) {
      event.preventDefault();
      unfollow();
      go(link.getAttribute("href"));
    }
  });
  /* Follow: the newest moment, as it comes. */
  let stream = null;
  const unfollow = () => {
    stream?.close();
    stream = null;
    $("follow")?.setAttribute("aria-pressed", "false");
  };
  const newest = (last) => {
    if (last <= Number(moment().dataset.last) && moment().dataset.version === moment().dataset.last) return;
    go(location.pathname, false);
    history.replaceState(history.state, "", location.pathname);
    htmx.trigger("#chart", "recorded");
  };
  const follow = () => {
    if (stream) { unfollow(); return; }
    stream = new EventSource($("follow").dataset.follow);
    stream.addEventListener("recorded", (event) => newest(Number(event.data)));
    stream.addEventListener("error", () => toast("The server is away; this page goes on when it is back."));
    $("follow").setAttribute("aria-pressed", "true");
  };
  $("follow")?.addEventListener("click", follow);
  slider?.addEventListener("input", unfollow);
  addEventListener("pagehide", unfollow);

  /* Questions: each change is asked first. */
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-ask]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      htmx.ajax("GET", link.getAttribute("href"), { source: "#ask", target: "#ask", swap: "innerHTML" }).then(() => $("ask").showModal());
    } else if (event.target.closest?.("#ask .no")) {
      event.preventDefault();
      $("ask").close();
    }
  });

  /* Two moments. */
  $("compare")?.addEventListener("click", () => {
    const address = new URL(location.pathname.replace("/sessions/", "/compare/"), location.href);
    address.searchParams.set("to", moment().dataset.version);
    location.assign(address);
  });
  document.querySelector(".moments")?.addEventListener("input", (event) => { $(`${event.target.name}-name`).value = event.target.value; });

  document.addEventListener("click", (event) => {
    if (event.target.closest?.("#keys")) help.showModal();
    if (!event.target.closest?.("#hits, .search")) $("hits")?.replaceChildren();
  });

  /* Keys. */
  const rows = () => [...document.querySelectorAll("#moment .row")];
  const jump = (by) => {
    if (!isTravel) {
      const links = [...document.querySelectorAll(".entry a")];
      const index = links.indexOf(document.activeElement) + by;
      (links[Math.max(0, Math.min(links.length - 1, index))])?.focus();
      return;
    }
    const top = main.getBoundingClientRect().top + 50;
    const tops = rows().map((row) => row.getBoundingClientRect().top - top);
    const index = by > 0 ? tops.findIndex((at) => at > 5) : tops.findLastIndex((at) => at < -5);
    if (index >= 0) main.scrollTop += tops[index];
  };
  const fold = (by) => {
    const here = Number(moment().dataset.version);
    const marks = [...document.querySelectorAll("[data-compaction]")].map((part) => Number(part.dataset.compaction));
    const found = by > 0 ? marks.find((version) => version > here) : marks.findLast((version) => version < here);
    unfollow();
    if (found) go(at(found)); else toast(by > 0 ? "No compaction after this moment." : "No compaction before this moment.");
  };
  const step = (by) => {
    unfollow();
    const version = Math.max(1, Math.min(Number(moment().dataset.last), Number(moment().dataset.version) + by));
    go(at(version));
  };
  const keys = {
    ArrowLeft: (event) => event.shiftKey ? step(-1) : $("to-before").click(),
    ArrowRight: (event) => event.shiftKey ? step(1) : $("to-after").click(),
    Home: () => $("to-first").click(), End: () => $("to-last").click(),
    "[": () => fold(-1), "]": () => fold(1),
    f: () => $("follow").click(), d: () => $("compare").click(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const field = event.target.closest?.("input:not([type=range]), select, textarea");
    if (event.key === "Escape") {
      $("hits")?.replaceChildren();
      if (field) field.blur();
    }
    if (field) return;
    if (event.key === "/") { event.preventDefault(); $("search")?.focus(); $("search")?.select(); }
    else if (event.key === "?") { event.preventDefault(); help.showModal(); }
    else if (event.key === "j" || event.key === "k") jump(event.key === "j" ? 1 : -1);
    else if (isTravel && keys[event.key] && !event.target.closest?.("pre, .table")) { event.preventDefault(); keys[event.key](event); }
  });
  slider?.addEventListener("pointerdown", () => { settle.dragging = true; });
  slider?.addEventListener("pointerup", () => { settle.dragging = false; });
  if (isTravel) settle();
})();
