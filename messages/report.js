
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
// Of a large job the page holds a letter and a few numbers a rank. What a node's ranks did, and groups beyond the first, is
// drawn when somebody asks for it.
const held = document.getElementById("data");
const data = held && JSON.parse(held.textContent);
const make = (tag, text, name) => {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (name) e.className = name;
  return e;
};
const table = (heads, rows) => {
  const t = make("table"), h = t.createTHead().insertRow(), b = t.createTBody();
  for (const x of heads) h.appendChild(make("th", x)).scope = "col";
  for (const cells of rows) {
    const row = b.insertRow();
    for (const c of cells) row.insertCell().append(c);
  }
  const box = make("div", undefined, "scroll");
  box.tabIndex = 0;
  box.appendChild(t);
  return box;
};
const detail = document.getElementById("detail");
if (data && detail && data.nodes.length) {
  const most = 8; // nodes shown at a time
  const result = make("div");
  result.setAttribute("aria-live", "polite");
  const draw = nodes => {
    result.textContent = "";
    for (const node of nodes.slice(0, most)) {
      result.appendChild(make("h3", node.n));
      result.appendChild(table(["rank", "", "state", "note"], node.r.map(([rank, look, note, root]) => {
        const [letter, words] = data.looks[look];
        return [String(rank), make("i", letter, "c r" + look + (root ? " root" : "")), words, note < 0 ? "" : data.notes[note]];
      })));
    }
    if (nodes.length > most) result.appendChild(make("p", "and " + (nodes.length - most) + " more nodes: name one", "note"));
  };
  const label = make("label", "Find a rank or node: ");
  const find = label.appendChild(make("input"));
  find.type = "search";
  find.addEventListener("input", () => {
    const want = find.value.trim().toLowerCase();
    const rank = /^\d+$/.test(want) ? Number(want) : -1;
    draw(want === "" ? [] : data.nodes.filter(n => n.n.toLowerCase() === want || n.r.some(r => r[0] === rank)
      || rank < 0 && n.n.toLowerCase().includes(want)));
  });
  detail.append(label, result);
  const cells = Array.from(map.querySelectorAll("i"));
  map.addEventListener("click", e => {
    const at = cells.indexOf(e.target);
    if (at < 0) return;
    draw(data.nodes.slice(at * data.block, (at + 1) * data.block));
    result.scrollIntoView({block: "nearest"});
  });
}
const more = document.getElementById("moregroups");
if (data && more && data.groups.length) {
  const button = make("button", "Show them");
  button.type = "button";
  more.append(" ", button);
  button.addEventListener("click", () => {
    button.remove();
    data.titles.forEach(([title, stuck], i) => {
      const group = make("details"), summary = group.appendChild(make("summary"));
      summary.append(make("strong", title), " ", make("span", stuck, "kind"));
      group.addEventListener("toggle", () => {
        if (group.childElementCount === 1) group.appendChild(table(["count", "state", "enqueued", "completed", "ranks", "on"], data.groups[i]));
      });
      more.parentNode.appendChild(group);
    });
  });
}
