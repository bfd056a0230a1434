
"use strict";
// Sort tables by a click on a heading; without this script the order is that of the report.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((th, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = th.textContent;
    th.textContent = "";
    th.appendChild(button);
    if (!th.hasAttribute("aria-sort")) th.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const down = th.getAttribute("aria-sort") === "ascending";
      for (const h of heads) h.setAttribute("aria-sort", "none");
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const key = row => row.cells[column].dataset.key || row.cells[column].textContent;
      const rows = Array.from(body.rows);
      rows.sort((a, b) => key(a).localeCompare(key(b), "en", {numeric: true}) * (down ? -1 : 1));
      for (const row of rows) body.appendChild(row);
    });
  });
}
// Touch has no hover: a tap, or the pointer, writes the state of a cell below the map.
const state = document.getElementById("state");
const map = document.querySelector(".map");
if (state && map) {
  const show = e => { if (e.target.title) state.textContent = e.target.title; };
  map.addEventListener("click", show);
  map.addEventListener("mouseover", show);
}
