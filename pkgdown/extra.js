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
  if (!list.childElementCount) { toc.remove(); return; }
  const heading = toc.querySelector("h2");
  if (window.innerWidth > 767 || !heading) { toc.append(list); return; }
  const folded = element("details", {}, element("summary", {}, heading.textContent), list);
  toc.replaceChildren(folded);
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
  ("a an and are can do does for from get have how i if in is it my of on or s the there this to use "
    + "using what which who why with").split(" ")
);
// What users call it, one word or more, and what the pages say. Longer ones are tried first.
const synonyms = {
  "what's new": ["news", "version"], "whats new": ["news", "version"], changelog: ["news"],
  changes: ["news"], release: ["news"], cite: ["citation"], citing: ["citation"],
  bibtex: ["citation"], contribute: ["contributing"], contribution: ["contributing"],
  "report a bug": ["report a problem"], "report bug": ["report a problem"],
  bug: ["report a problem"], bugs: ["report a problem"], issue: ["report a problem"],
  issues: ["report a problem"], github: ["contributing"], cran: ["installation"],
  windows: ["installation"], compiler: ["installation"], install: ["installation"],
  "variable importance": ["compare_terms", "inclusion", "contribution of each term"],
  "feature importance": ["compare_terms", "inclusion", "contribution of each term"],
  importance: ["compare_terms", "inclusion", "contribution of each term"],
  shap: ["compare_terms", "exposure", "contribution of each term"],
  lengthscale: ["length-scale", "kernels"], "length scale": ["length-scale", "kernels"],
  "length-scale": ["kernels"], "length-scales": ["length-scale", "kernels"],
  "kernel width": ["kernels", "length-scale"], bandwidth: ["kernels", "length-scale"],
  "custom kernel": ["kernels, and your own", "precomputed"], tune: ["tuning"],
  "own kernel": ["kernels, and your own", "precomputed"], tuned: ["tuning"],
  "cross validation": ["leave-one-out", "loo", "tuning"], crossvalidation: ["leave-one-out", "loo"],
  "cross-validation": ["leave-one-out", "loo", "tuning"], loocv: ["leave-one-out", "loo"],
  multiclass: ["classes", "multinomial", "more than two classes"],
  "multi-class": ["classes", "multinomial"],
  "3 classes": ["multinomial", "classes", "two or more"],
  "4 classes": ["multinomial", "classes", "two or more"],
  "many classes": ["multinomial", "classes"], imbalance: ["rare"], imbalanced: ["rare"],
  "confusion matrix": ["balanced_error", "error rate"], accuracy: ["error rate"],
  "missing data": ["missing predictors", "missing values"],
  "missing values": ["missing predictors"], "missing value": ["missing predictors"], imputation: ["imputed", "missing"],
  na: ["missing"], nas: ["missing"], "na's": ["missing"], spline: ["smooths"], splines: ["smooths"],
  "random slopes": ["random slope", "random effects", "mixed models"],
  "random effect": ["random effects"], "random intercept": ["random effects"],
  "repeated measures": ["random effects", "mixed models", "patients"],
  longitudinal: ["random effects", "patients"], nested: ["groups"], glmm: ["mixed"],
  multilevel: ["mixed"], hierarchical: ["mixed"], lmer: ["lme4"], glmer: ["lme4"], gam: ["mgcv"],
  spatial: ["gaussian process terms", "surface", "map"], confidence: ["interval"],
  "confidence interval": ["confint", "intervals"], "confidence intervals": ["confint", "intervals"],
  "p value": ["p-values"], "p-value": ["p-values"], "p values": ["p-values"],
  poisson: ["no poisson", "survival models"], multicollinearity: ["collinear", "redundant terms"],
  collinearity: ["collinear", "redundant terms"], divergent: ["convergence", "r-hat"],
  divergence: ["convergence", "r-hat"], "nested random effects": ["random effects", "nested"],
  interactions: ["interaction", "exposure"], interaction: ["exposure"], save: ["saverds"],
  credible: ["interval"], hyperparameter: ["tuning", "prior"], hyperparameters: ["tuning", "prior"],
  online: ["streaming"], plotting: ["plot"], svm: ["bsvm", "gpsvm", "support vector machine"],
  "gaussian process": ["gp", "gaussian processes"], coda: ["draws"], mcmc: ["draws", "gibbs"],
  "gaussian processes": ["gp", "gaussian process"], ard: ["length-scale"]
};
const phrases = Object.keys(synonyms).filter(key => /[^a-z]/.test(key))
  .sort((a, b) => b.length - a.length);

// Whole words, singular or plural; a space or a hyphen between those of a phrase.
function wholeWord(text) {
  const escaped = text.replace(/[^a-z0-9 ]/g, "\\$&").replace(/(\\-| )/g, "[- _]?");
  return new RegExp("(^|[^a-z0-9])" + escaped + "(s|es)?(?![a-z0-9])", "gi");
}

// The words of a query, each with the forms that do as well.
function queryWords(query) {
  let rest = " " + query.toLowerCase().replace(/\u2019/g, "'").replace(/[\s,;()?"]+/g, " ").trim() + " ";
  const told = [];
  phrases.forEach(phrase => {
    if (!rest.includes(" " + phrase + " ")) return;
    rest = rest.replace(" " + phrase + " ", " ");
    told.push(phrase);
  });
  const words = rest.split(" ").filter(word => word);
  const kept = words.filter(word => !stopWords.has(word));
  return told.concat(kept.length || told.length ? kept : words).map(word => {
    const forms = [word].concat(synonyms[word] || []);
    if (word.length > 3 && word.endsWith("s")) forms.push(word.slice(0, -1));
    if (word.includes("our")) forms.push(word.replace("our", "or").replace(/s$/, ""));
    return {
      whole: forms.map(wholeWord),
      start: word.length > 2 ? new RegExp("(^|[^a-z0-9])" + word.replace(/[^a-z0-9]/g, "\\$&"), "gi") : null
    };
  });
}

// Headings that every page of help has.
const usualHeading = /^(arguments|details|examples|value)$/i;

const weights = { what: 8, title: 6, text: 1, code: 0.5 };

// How much a section tells of a form: the name of a function most, a text more that has it often.
function rate(form, section) {
  const names = section.alias.split(" ");
  const own = names.some(name => name && !name.replace(form, ""));
  // A page of many methods is about each of them a little.
  let score = own ? (names.length > 10 ? 8 : 14) : 0;
  const usual = usualHeading.test(section.what);
  Object.keys(weights).forEach(field => {
    if (usual && field === "what") return;
    const many = Math.min((section[field].match(form) || []).length, field === "text" ? 4 : 1);
    score += weights[field] * (many && (1 + (many - 1) / 3));
  });
  if (!usual && section.what.search(form) === 0) score += 4;
  return score;
}

// Pages that few ask for: details of an article, priors and controls, pages for contributors, news.
function rarity(section) {
  if (section.dir === "news") return section.title === "News" ? 1 : 0.2;
  if (/ARCHITECTURE|CODE_OF|standards|LICENSE/.test(section.path)) return 0.3;
  return /-details|_prior|_control|inclusion_path|[a-z]+[0-9]{4}[.]/.test(section.path) ? 0.75 : 1;
}

// Sections that have all words, or most of them where none has all. Titles and names of functions
// count more than text, a phrase more than its words. At most two sections a page.
function find(query, index) {
  const words = queryWords(query);
  const asked = query.toLowerCase().trim();
  const phrase = words.length > 1 ? wholeWord(asked) : null;
  const rated = index.map(section => {
    let score = 0, found = 0;
    words.forEach(word => {
      // A synonym counts less than the word, and the start of a word least.
      const hits = word.whole.map((form, k) => rate(form, section) * (k ? 0.8 : 1));
      if (word.start) hits.push(0.25 * rate(word.start, section));
      const hit = Math.max(...hits);
      if (hit > 0) found += 1;
      score += hit;
    });
    if (phrase && section.what.search(phrase) >= 0) score += 12;
    else if (phrase && section.text.search(phrase) >= 0) score += 6;
    if (section.what.toLowerCase() === asked) score += 10;
    score += (section.id ? 0 : 2) + (section.dir === "reference" ? 1 : 0);
    return { section, score: score * rarity(section), found };
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
