// What pages do without scripts of other servers: the list of a page's sections, buttons that copy
// code, and the search, whose index tools/site writes to search.js.
"use strict";

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function listSections() {
  const toc = document.getElementById("toc");
  if (!toc) return;
  const list = element("ul", { className: "nav flex-column" });
  document.querySelectorAll("main h2").forEach(heading => {
    const id = heading.id || (heading.closest("[id]") || {}).id;
    if (!id || heading.hasAttribute("data-toc-skip")) return;
    const text = heading.dataset.tocText || heading.textContent.trim();
    const link = element("a", { className: "nav-link", href: "#" + id }, text);
    list.append(element("li", {}, link));
  });
  if (list.childElementCount) toc.append(list); else toc.remove();
}

// Code without its output, which begins with #>.
function addCopyButtons() {
  if (!navigator.clipboard) return;
  document.querySelectorAll("main div.sourceCode").forEach(block => {
    const button = element("button", { type: "button", className: "copy-code" }, "Copy");
    button.addEventListener("click", () => {
      const code = block.querySelector("pre").textContent.replace(/^#>.*\n?/gm, "");
      navigator.clipboard.writeText(code).then(() => { button.textContent = "Copied"; });
    });
    block.prepend(button);
  });
}

// On a narrow screen a cell is as wide as its text, up to 20 characters, or 30 of long texts in tables
// of many columns, which scroll.
function widenCells() {
  if (window.innerWidth > 767) return;
  document.querySelectorAll("main table td, main table th").forEach(cell => {
    if (getComputedStyle(cell).textAlign === "right") return;
    const length = cell.textContent.trim().length;
    const many = cell.parentElement.cells.length > 3;
    const shown = length > 66 && many ? 30 : Math.min(length, 20);
    if (shown > 8) cell.style.minWidth = (0.55 * shown + 1) + "em";
  });
}

// Sections that have all words; titles count more than text, and help more than news.
function find(query, index) {
  const words = query.toLowerCase().split(/\s+/).filter(word => word);
  const weight = { title: 8, what: 8, previous_headings: 2, text: 1, code: 1 };
  const rated = index.map(section => {
    let score = section.dir === "Changelog" || /ARCHITECTURE|CONTRIBUTING/.test(section.path) ? -20 : 0;
    for (const word of words) {
      const hits = Object.keys(weight).filter(
        field => (section[field] || "").toLowerCase().includes(word)
      );
      if (!hits.length) return null;
      hits.forEach(field => { score += weight[field]; });
      if (section.title.toLowerCase().split(/[^\w.]+/).includes(word)) score += 10;
    }
    return { section, score };
  });
  return rated.filter(Boolean).sort((a, b) => b.score - a.score).slice(0, 15).map(x => x.section);
}

function showFound(list, root, query) {
  const found = query.trim().length > 1 && window.siteIndex ? find(query, window.siteIndex) : [];
  list.replaceChildren(...found.map(section => {
    const where = section.what === section.title ? section.dir : section.what;
    const href = root + section.path + (section.id ? "#" + section.id : "");
    return element("li", {}, element("a", { href }, section.title, element("small", {}, where)));
  }));
  if (!found.length && query.trim().length > 1) {
    list.append(element("li", {}, element("span", {}, "Nothing found.")));
  }
  list.hidden = query.trim().length < 2;
}

function startSearch() {
  const input = document.getElementById("search-input");
  const list = document.getElementById("search-results");
  if (!input) return;
  const show = () => showFound(list, input.dataset.root, input.value);
  input.addEventListener("focus", () => {
    if (window.siteIndex) return;
    document.head.append(
      element("script", { src: input.dataset.root + "search.js", onload: show })
    );
  }, { once: true });
  input.addEventListener("input", show);
  input.form.addEventListener("submit", event => {
    event.preventDefault();
    const first = list.querySelector("a");
    if (first) first.click();
  });
  input.form.addEventListener("keydown", event => {
    const links = [...list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "Escape") list.hidden = true;
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    const next = links[at + (event.key === "ArrowDown" ? 1 : -1)] || input;
    next.focus();
  });
  document.addEventListener("click", event => {
    if (!input.form.contains(event.target)) list.hidden = true;
  });
}

document.addEventListener("DOMContentLoaded", () => {
  listSections();
  addCopyButtons();
  widenCells();
  startSearch();
});
