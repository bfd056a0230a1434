
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
// A phone shows the verdict, the pictures and what to do; the proof unfolds.
if (matchMedia("(max-width: 760px)").matches) for (const d of document.querySelectorAll("#chain > details, #course > details")) d.open = false;
// Touch has no hover: a tap, or the pointer, writes the state of a cell below the map.
const state = document.getElementById("state");
const map = document.querySelector(".map");
if (map) { // what broke is in sight, however large the map
  const root = map.querySelector(".root");
  if (root && root.offsetTop - map.offsetTop > map.clientHeight - 20) map.scrollTop = root.offsetTop - map.offsetTop - map.clientHeight / 2;
}
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

// The timeline begins where the incident does; buttons, keys and a drag show other parts of the run. Without this script it
// stands as it is.
const lanes = document.querySelector(".lanes");
if (lanes) {
  const whole = Number(lanes.dataset.whole), focus = Number(lanes.dataset.focus), moment = document.getElementById("moment");
  const shapes = Array.from(lanes.querySelectorAll("rect, use, line")), axis = lanes.querySelector(".axis");
  let from = focus, to = whole;
  const percent = at => ((at - from) / (to - from) * 100).toFixed(3) + "%";
  // Ticks stand at round times of the day, or at round seconds where no time is known.
  const since = Number(lanes.dataset.since), days = 86400;
  const steps = [.1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];
  const clock = (at, step) => {
    if (since < 0) return "+" + at.toFixed(step < 1 ? 1 : 0) + " s";
    const s = ((since + at) % days + days) % days, two = n => String(Math.floor(n)).padStart(2, "0");
    const minutes = two(s / 3600) + ":" + two(s % 3600 / 60);
    return step >= 60 ? minutes : minutes + ":" + (step < 1 ? (s % 60).toFixed(1).padStart(4, "0") : two(Math.round(s % 60 * 10) / 10));
  };
  const ticks = () => {
    const box = axis.lastElementChild, span = to - from, phase = Math.max(since, 0);
    const step = steps.find(s => span / s <= 6) || days * Math.ceil(span / days / 6);
    box.textContent = "";
    for (let at = Math.ceil((from + phase) / step) * step - phase; at <= to; at += step) {
      if (at < from + .03 * span || at > to - .03 * span) continue; // a label at the edge would be cut
      const text = document.createElementNS(box.namespaceURI, "text");
      text.setAttribute("x", percent(at));
      text.setAttribute("y", "13");
      text.textContent = clock(at, step);
      box.appendChild(text);
    }
  };
  const draw = () => {
    for (const s of shapes) {
      const d = s.dataset;
      if (d.to !== undefined) {
        const a = Math.max(Number(d.from), from), b = Math.min(Number(d.to), to);
        s.setAttribute("x", percent(a));
        s.setAttribute("width", b > a ? ((b - a) / (to - from) * 100).toFixed(3) + "%" : "0");
      } else if (d.unc !== undefined) {
        s.setAttribute("x1", percent(Number(d.at) - Number(d.unc)));
        s.setAttribute("x2", percent(Number(d.at) + Number(d.unc)));
      } else s.setAttribute("x", percent(Number(d.at)));
    }
    ticks();
  };
  const show = (a, b) => {
    const wide = Math.min(Math.max(b - a, Math.min(1, whole)), whole);
    from = Math.min(Math.max(a, 0), whole - wide);
    to = from + wide;
    draw();
  };
  const zoom = by => { const mid = (from + to) / 2, half = (to - from) * by / 2; show(mid - half, mid + half); };
  const keys = {"+": () => zoom(.5), "-": () => zoom(2), "ArrowLeft": () => show(from - (to - from) / 4, to - (to - from) / 4),
    "ArrowRight": () => show(from + (to - from) / 4, to + (to - from) / 4), "0": () => show(focus, whole)};
  const bar = make("div", undefined, "zoom");
  const buttons = [["+", "Zoom in", "+"], ["\u2212", "Zoom out", "-"], ["\u25c0", "Earlier", "ArrowLeft"], ["\u25b6", "Later", "ArrowRight"], ["Reset", "Reset", "0"]];
  for (const [text, name, key] of buttons) {
    const b = make("button", text);
    b.type = "button";
    b.title = name;
    b.setAttribute("aria-label", name);
    b.addEventListener("click", keys[key]);
    bar.appendChild(b);
  }
  bar.appendChild(moment);
  lanes.after(bar);
  lanes.addEventListener("keydown", e => { if (keys[e.key]) { keys[e.key](); e.preventDefault(); } });
  const tell = e => { const t = e.target.querySelector && e.target.querySelector("title"); if (t) moment.textContent = t.textContent; };
  for (const kind of ["click", "mouseover", "focusin"]) lanes.addEventListener(kind, tell);
  let held = null;
  lanes.addEventListener("pointerdown", e => { held = {x: e.clientX, from, to, wide: axis.lastElementChild.getBoundingClientRect().width}; });
  addEventListener("pointerup", () => { held = null; });
  lanes.addEventListener("pointermove", e => {
    if (!held || Math.abs(e.clientX - held.x) < 4) return;
    const by = (e.clientX - held.x) / held.wide * (held.to - held.from);
    show(held.from - by, held.to - by);
  });
}
addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
