"use strict";
(() => {
  const root = document.documentElement;
  const THEME = "foldlog-theme";

  /* Light or dark: as the system has it, until a person says otherwise. */
  const remembered = () => { try { return localStorage.getItem(THEME); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem(THEME, theme); } catch { /* a private window */ } };
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const saved = remembered();
  if (saved === "light" || saved === "dark") root.dataset.theme = saved;
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("#theme")) return;
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
  });
})();
