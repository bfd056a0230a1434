// The page of a channel: it sends what people do to /sim/ and fetches itself anew when the server says that something
// has changed. All text comes from the server's HTML, which is escaped there; nothing here makes HTML from text.
"use strict";
(() => {
  const { user, channel, bot } = document.body.dataset;
  const $ = (sel, root = document) => root.querySelector(sel);
  const $$ = (sel, root = document) => [...root.querySelectorAll(sel)];

  let toastTimer;
  const toast = (text) => {
    const t = $("#toast");
    t.textContent = text;
    t.hidden = false;
    clearTimeout(toastTimer);
    toastTimer = setTimeout(() => { t.hidden = true; }, 6000);
  };

  const send = async (path, body) => {
    const r = await fetch("/sim/" + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    const answer = await r.json();
    if (!answer.ok && !answer.refused) toast(answer.error);
    return answer;
  };

  // Keyed exchange: only what has changed is replaced, so that nothing that somebody uses is taken away.
  const exchange = (now, then) => {
    if (!now || !then) return;
    const old = new Map([...now.children].map((n) => [n.dataset.key, n]));
    let at = now.firstElementChild;
    for (const fresh of [...then.children]) {
      const before = old.get(fresh.dataset.key);
      old.delete(fresh.dataset.key);
      const node = before && before.source === fresh.outerHTML ? before : fresh;
      node.source = node.source ?? fresh.outerHTML;
      if (before && node !== before) {
        if (at === before) at = before.nextElementSibling;
        before.replaceWith(node);
        prepare(node);
      } else if (!before) {
        now.insertBefore(node, at);
        prepare(node);
      } else {
        at = before.nextElementSibling;
      }
    }
    for (const gone of old.values()) gone.remove();
  };

  const atEnd = (box) => box && box.scrollHeight - box.scrollTop - box.clientHeight < 120;

  const refresh = async () => {
    const r = await fetch(location.href, { cache: "no-store" });
    if (!r.ok) return;
    const page = new DOMParser().parseFromString(await r.text(), "text/html");
    const boxes = ["#scroll", "#thread-scroll"].map((sel) => [$(sel), atEnd($(sel))]);
    exchange($("#messages"), $("#messages", page));
    exchange($("#thread-messages"), $("#thread-messages", page));
    const home = $(".home"), newHome = $(".home", page);
    if (newHome && home?.dataset.key !== newHome.dataset.key) {
      prepare(newHome);
      home ? home.replaceWith(newHome) : $("#scroll").prepend(newHome);
    }
    modal($("#modal-slot", page));
    for (const [box, end] of boxes) if (box && end) box.scrollTop = box.scrollHeight;
  };

  // modal shows the dialog that the server has for this user. The same view keeps what was typed into it.
  const modal = (slot) => {
    const now = $("#modal-slot dialog"), then = $("dialog", slot);
    if (now && then && now.dataset.key === then.dataset.key) {
      for (const input of $$("[data-input]", then)) {
        const mine = $$("[data-input]", now).find((i) => i.dataset.input === input.dataset.input);
        const said = $("[data-error]", input).textContent; // by the bot; what the client itself found stays
        if (mine && (said || mine.said)) complain(mine, said);
        if (mine) mine.said = said;
      }
      $("[data-trouble]", now).textContent = $("[data-trouble]", then).textContent;
      return;
    }
    const typed = now && then && now.dataset.view === then.dataset.view ? values(now) : {};
    now?.close();
    now?.remove();
    if (!then) return;
    $("#modal-slot").append(then);
    prepare(then);
    for (const field of $$("[data-input]", then)) restore(field, typed[field.dataset.input]);
    then.addEventListener("cancel", (e) => { e.preventDefault(); close(then, "all"); });
    then.showModal();
    $("[data-field]", then)?.focus();
  };

  const complain = (input, text) => {
    $("[data-error]", input).textContent = text;
    input.classList.toggle("bad", text !== "");
  };

  const valueOf = (field) => {
    if (field.type === "file") return undefined;
    if ("value" in field && field.tagName !== "DIV") return field.value;
    const on = $$("input:checked", field).map((i) => i.value);
    return $("input[type=checkbox]", field) ? on : on[0] ?? "";
  };

  const values = (dialog) => {
    const out = {};
    for (const input of $$("[data-input]", dialog)) {
      const v = valueOf($("[data-field]", input));
      if (v !== undefined) out[input.dataset.input] = v;
    }
    for (const many of $$("[data-many]", dialog)) out[many.dataset.many] = valueOf(many);
    return out;
  };

  const restore = (input, value) => {
    const field = $("[data-field]", input);
    if (value === undefined || field.type === "file") return;
    if (field.tagName === "DIV") for (const i of $$("input", field)) i.checked = [].concat(value).includes(i.value);
    else field.value = value;
  };

  const upload = async (dialog, into) => {
    for (const input of $$("[data-input]", dialog)) {
      const field = $("[data-field]", input);
      if (field.type !== "file") continue;
      into[input.dataset.input] = [];
      for (const file of field.files) {
        const form = new FormData();
        form.append("user", user);
        form.append("file", file);
        const answer = await (await fetch("/sim/upload", { method: "POST", body: form })).json();
        if (!answer.ok) throw new Error(answer.error);
        into[input.dataset.input].push(answer.result);
      }
    }
  };

  const submit = async (dialog) => {
    const filled = values(dialog);
    dialog.classList.add("busy");
    try {
      for (const input of $$("[data-input]", dialog)) complain(input, "");
      await upload(dialog, filled);
      const answer = await send("view/submit", { user, view: dialog.dataset.view, values: filled });
      for (const [id, text] of Object.entries(answer.refused ?? {})) {
        const input = $$("[data-input]", dialog).find((i) => i.dataset.input === id);
        if (input) complain(input, text);
      }
    } catch (e) {
      toast(e.message);
    }
    dialog.classList.remove("busy");
    await refresh();
  };

  const close = async (dialog, what) => {
    await send("view/close", { user, view: dialog.dataset.view, all: what === "all" });
    await refresh();
  };

  const confirmed = (b) => {
    if (!b.dataset.ctitle) return Promise.resolve(true);
    const d = $("#confirm");
    $("h2", d).textContent = b.dataset.ctitle;
    $("p", d).textContent = b.dataset.ctext;
    $("[value=yes]", d).textContent = b.dataset.cyes;
    $("[value=no]", d).textContent = b.dataset.cno;
    d.returnValue = "no";
    d.showModal();
    return new Promise((done) => d.addEventListener("close", () => done(d.returnValue === "yes"), { once: true }));
  };

  const press = async (b, use) => {
    if (!(await confirmed(b))) return;
    b.disabled = true;
    const dialog = b.closest("dialog");
    const answer = b.dataset.view
      ? await send("view/click", { user, view: b.dataset.view, use, values: dialog ? values(dialog) : {} })
      : await send("click", { user, channel, ts: b.dataset.ts, use });
    if (answer.ack && !answer.ack.ok) toast("The app did not respond: " + answer.ack.error);
    b.disabled = false;
    await refresh();
  };

  const say = async (form) => {
    const box = $("textarea", form), text = box.value.trim(), thread = form.dataset.in ?? "";
    if (!text) return;
    let answer;
    if (text.startsWith("/")) {
      if (thread) return toast("Slack does not take commands in threads. Write @" + bot + " here, or use the command in the channel.");
      const [, command, rest] = text.match(/^(\S+)\s*([\s\S]*)$/);
      box.value = "";
      answer = await send("slash", { user, channel, command, text: rest });
    } else {
      const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
      box.value = "";
      answer = await send("say", { user, channel, thread, text: escaped.replace(new RegExp("@" + bot + "\\b", "gi"), "<@" + document.body.dataset.botid + ">") });
    }
    if (!answer.ok && !box.value) box.value = text;
    await refresh();
    for (const sel of ["#scroll", "#thread-scroll"]) if ($(sel)?.contains($("#thread-messages")) || !thread) $(sel) && ($(sel).scrollTop = $(sel).scrollHeight);
  };

  // prepare leads Slack's own links back here, makes long tables short, and lets their heads sort them.
  const prepare = (root) => {
    for (const a of $$("a[href^='" + document.body.dataset.home + "']", root)) {
      const link = new URL(a.href);
      const [, where, seconds, micros] = link.pathname.match(/^\/archives\/(\w+)\/p(\d+)(\d{6})$/) ?? [];
      const [, file] = link.pathname.match(/^\/files\/\w+\/(F\w+)\//) ?? [];
      if (where) {
        a.href = "/view/" + where + "?" + new URLSearchParams({ user, thread: link.searchParams.get("thread_ts") ?? seconds + "." + micros });
        a.removeAttribute("target");
      } else if (file) {
        a.href = "/view-files/" + file + "/" + link.pathname.split("/").at(-1);
      }
    }
    for (const t of $$("[data-rows]", root)) {
      const body = $("tbody", t), size = Number(t.dataset.rows);
      if (!body || t.querySelector(".more")) continue;
      let all = false;
      const rows = [...body.rows];
      const more = document.createElement("button");
      more.type = "button";
      more.className = "button more";
      const show = () => {
        [...body.rows].forEach((row, i) => { row.hidden = !all && i >= size; });
        more.textContent = all ? "Show fewer rows" : "Show all " + rows.length + " rows";
      };
      if (rows.length > size) {
        more.addEventListener("click", () => { all = !all; show(); });
        t.append(more);
      }
      show();
      $$("th", t).forEach((th, i) => th.addEventListener("click", () => {
        const up = th.ariaSort !== "ascending";
        $$("th", t).forEach((other) => other.removeAttribute("aria-sort"));
        th.ariaSort = up ? "ascending" : "descending";
        const key = (row) => row.cells[i]?.textContent ?? "";
        body.append(...[...body.rows].sort((a, b) => (up ? 1 : -1) * key(a).localeCompare(key(b), "en", { numeric: true })));
        show();
      }));
    }
  };

  document.addEventListener("click", (e) => {
    const b = e.target.closest("button[data-press]"), c = e.target.closest("[data-close]");
    if (b) press(b, { action_id: b.dataset.press, block_id: b.dataset.bid, value: b.dataset.val });
    else if (c) close(c.closest("dialog"), c.dataset.close);
    else if (e.target.closest(".menu")) document.body.classList.toggle("menu-open");
    else if (!e.target.closest(".side")) document.body.classList.remove("menu-open");
  });
  document.addEventListener("change", (e) => {
    const s = e.target.closest("select[data-press]"), many = e.target.closest("[data-many]");
    if (s && s.value) press(s, { action_id: s.dataset.press, value: s.value });
    else if (many) {
      const v = valueOf(many);
      press(many, Array.isArray(v) ? { action_id: many.dataset.many, values: v } : { action_id: many.dataset.many, value: v });
    }
  });
  document.addEventListener("submit", (e) => {
    const m = e.target.closest("[data-modal]"), c = e.target.closest("[data-composer]");
    if (!m && !c) return;
    e.preventDefault();
    m ? submit(m.closest("dialog")) : say(c);
  });
  document.addEventListener("keydown", (e) => {
    const form = e.target.closest?.("[data-composer]");
    if (form && e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); say(form); }
  });

  for (const list of ["#messages", "#thread-messages"]) for (const n of $(list)?.children ?? []) n.source = n.outerHTML;
  prepare(document);
  const first = $("#modal-slot").cloneNode(true);
  $("#modal-slot dialog")?.remove();
  modal(first);
  for (const sel of ["#scroll", "#thread-scroll"]) if ($(sel)) $(sel).scrollTop = $(sel).scrollHeight;

  if (channel.startsWith("D")) fetch("/sim/home", { method: "POST", body: JSON.stringify({ user, no_wait: true }) }).catch(() => {});

  let running = false, again = false;
  const changed = async () => {
    if (running) { again = true; return; }
    running = true;
    do { again = false; await refresh().catch(() => {}); } while (again);
    running = false;
  };
  new EventSource("/sim/events").onmessage = changed;
})();
