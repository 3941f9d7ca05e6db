// The theme, before anything is drawn: that of the system, or the one that was chosen here.
"use strict";
{
  let kept = null;
  try {
    kept = localStorage.getItem("forks-theme");
  } catch {
    // no storage: the theme of the system
  }
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
}
