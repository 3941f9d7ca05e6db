// Sets the formulas of a page, which arithmatex leaves as \(...\) and \[...\].
for (const place of document.querySelectorAll(".arithmatex")) {
  const tex = place.textContent.trim();
  katex.render(tex.slice(2, -2), place, { displayMode: tex.startsWith("\\["), throwOnError: false });
}
