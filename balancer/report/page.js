"use strict";
// Tables of the class list can be sorted by a click on a heading, filtered by
// words, and show more than their first rows. Without this script they are
// lists of the worst.
for (const table of document.querySelectorAll("table.list")) {
  const body = table.tBodies[0], rows = [...body.rows];
  const top = rows.filter(row => !row.classList.contains("more")).length;
  const tools = document.querySelector(`.tools[data-for="${table.id}"]`);
  const value = (row, i) => {
    const cell = row.cells[i];
    return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v);
  };
  let words = [], shown = document.createElement("span"), more = document.createElement("button");
  function draw() {
    let n = 0, fit = 0;
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      const out = !words.every(word => text.includes(word));
      row.classList.toggle("out", out);
      row.classList.toggle("more", !out && n >= top);
      if (!out) { n++; fit++; }
    }
    const all = table.classList.contains("all");
    more.hidden = fit <= top;
    more.textContent = all ? `first ${top} only` : `show all ${fit}`;
    shown.textContent = `${all ? fit : Math.min(fit, top)} of ${rows.length}`;
  }
  function sort(th, i) {
    const before = th.getAttribute("aria-sort");
    const numbers = th.classList.contains("n");
    const up = before ? before === "descending" : !numbers;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", up ? "ascending" : "descending");
    const sorted = [...body.rows].sort((a, b) => {
      const x = value(a, i), y = value(b, i);
      return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1);
    });
    body.append(...sorted);
    draw();
  }
  [...table.tHead.rows[0].cells].forEach((th, i) => {
    if (!th.textContent.trim()) return;
    th.tabIndex = 0;
    th.addEventListener("click", () => sort(th, i));
    th.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); sort(th, i); } });
  });
  table.classList.add("live");
  if (tools && rows.length > 1) {
    const filter = document.createElement("input");
    filter.type = "search";
    filter.placeholder = "filter";
    filter.setAttribute("aria-label", `filter ${table.id}`);
    filter.addEventListener("input", () => { words = filter.value.toLowerCase().split(/\s+/).filter(Boolean); draw(); });
    more.type = "button";
    more.addEventListener("click", () => { table.classList.toggle("all"); draw(); });
    tools.append(filter, shown, more);
    draw();
  }
}
