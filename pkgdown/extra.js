// The list of a page's sections where the library that makes it cannot be loaded.
document.addEventListener("DOMContentLoaded", function () {
  const toc = document.getElementById("toc");
  if (!toc || window.Toc) return;
  const list = document.createElement("ul");
  list.className = "nav flex-column";
  document.querySelectorAll("main h2").forEach(function (heading) {
    const id = heading.id || (heading.closest("[id]") || {}).id;
    if (!id || heading.hasAttribute("data-toc-skip")) return;
    const link = document.createElement("a");
    link.className = "nav-link";
    link.href = "#" + id;
    link.textContent = heading.textContent.trim();
    list.append(document.createElement("li"));
    list.lastChild.append(link);
  });
  if (list.childElementCount) toc.append(list); else toc.remove();
});
