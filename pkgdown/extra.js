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

const stopWords = new Set(
  "a an and are can do does for from get how i in is it my of on or the to use using what which with"
    .split(" ")
);
// What users call it, and what the pages do.
const synonyms = {
  multiclass: "classes", imbalance: "rare", imbalanced: "rare", spline: "smooth", splines: "smooth",
  confidence: "interval", credible: "interval", nested: "groups", glmm: "mixed", multilevel: "mixed",
  hierarchical: "mixed", lmer: "lme4", glmer: "lme4", gam: "mgcv", crossvalidation: "leave-one-out",
  loocv: "leave-one-out", install: "installation", imputation: "missing", na: "missing",
  nas: "missing", tuning: "tune", online: "streaming", prediction: "predict", plotting: "plot", svm: "support vector"
};

// Words of a query, each with others that do as well: singular and plural, synonyms.
function queryWords(query) {
  const all = query.toLowerCase().split(/[\s,;()]+/).filter(word => word);
  const told = all.filter(word => !stopWords.has(word));
  return (told.length ? told : all).map(word => {
    const forms = [word];
    if (word.length > 3 && word.endsWith("s")) forms.push(word.slice(0, -1));
    if (word.includes("our")) forms.push(word.replace("our", "or").replace(/s$/, ""));
    if (synonyms[word]) forms.push(synonyms[word]);
    return forms.map(form => new RegExp(
      "(^|[^a-z0-9])" + form.replace(/[^a-z0-9]/g, "\\$&") + (form.length > 3 ? "" : "(?![a-z0-9])"), "i"
    ));
  });
}

// "bkm_prior" of reference/bkm_prior.html, "predict" of reference/predict.bayeskernel_fit.html.
const topicOf = section => section.path.split("/").pop().replace(/[.].*$/, "").toLowerCase();

// Sections that have all words, or most of them where none has all; titles count more than text, the
// page of a topic more than its sections, and help more than news. At most two sections a page.
function find(query, index) {
  const words = queryWords(query);
  const weight = { title: 8, what: 8, previous_headings: 2, text: 1, code: 1 };
  const rated = index.map(section => {
    const low = section.dir === "News" || /ARCHITECTURE|CONTRIBUTING/.test(section.path);
    const help = section.dir === "Reference";
    let score = (low ? -40 : 0) + (section.id ? 0 : 2), found = 0;
    for (const forms of words) {
      const hit = Math.max(...forms.map((form, k) => {
        const fields = Object.keys(weight).filter(field => form.test(section[field] || ""));
        let own = fields.reduce((sum, field) => sum + weight[field], 0);
        const topic = help ? topicOf(section) : "";
        if (help && form.test(topic.replace(/_/g, " "))) own += section.id ? 8 : 20;
        if (help && !section.id && forms[0].source === queryWords(topic)[0][0].source) own += 15;
        return own && own - (k ? 1 : 0);
      }));
      if (hit > 0) found += 1;
      score += Math.max(hit, 0);
    }
    return { section, score, found };
  });
  const most = Math.max(...rated.map(one => one.found));
  if (most < Math.ceil(words.length / 2)) return [];
  const shown = {};
  return rated.filter(one => one.found === most && most > 0)
    .sort((a, b) => b.score - a.score)
    .filter(one => {
      shown[one.section.path] = (shown[one.section.path] || 0) + 1;
      return shown[one.section.path] <= 2;
    })
    .slice(0, 15).map(one => one.section);
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
