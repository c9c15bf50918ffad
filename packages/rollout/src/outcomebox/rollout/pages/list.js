// The list with its filters, and the grid of tasks by repetition.

const filters = { outcome: "", domain: "", family: "", finish: "", phase: "", tool: "", tries: "results", text: "" };
let order = { by: "place", down: false };
let chosen = [];

// What a row is searched by; made when somebody searches.
const texts = new Map();
function says(row, words) {
  if (!texts.has(row)) texts.set(row, `${row.uid} ${row.note} ${INDEX.tasks[row.task][3]}`.toLowerCase());
  return words.every(word => texts.get(row).includes(word));
}

const fits = (row, words) =>
  (filters.tries === "all" || row.result) &&
  (!filters.outcome || row.outcome.name === filters.outcome) &&
  (!filters.domain || row.domain === filters.domain) &&
  (!filters.family || row.family === filters.family) &&
  (!filters.finish || row.finish === filters.finish) &&
  (!filters.phase || row.phase === filters.phase) &&
  (!filters.tool || row.tools.some(tool => INDEX.tools[tool] === filters.tool)) &&
  (!words.length || says(row, words));

function choose() {
  const { by, down } = order;
  const value = row => (by === "outcome" ? row.outcome.name : row[by]) ?? "";
  const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
  chosen = ROWS.filter(row => fits(row, words));
  if (by !== "place" || down) {
    chosen.sort((one, other) => {
      const [a, b] = [value(one), value(other)];
      return (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1) || one.place - other.place;
    });
  }
}

const COLUMNS = [
  ["outcome", "outcome"],
  ["uid", "task"],
  ["repetition", "repetition", "number"],
  ["finish", "end"],
  ["time", "time", "number"],
  ["tokens", "tokens", "number"],
  ["note", "why"],
];

function line(row) {
  const attempt = row.attempt ? el("span", { class: "dim" }, ` try ${row.attempt}`) : "";
  return el(
    "tr",
    { class: row.result ? "" : "superseded" },
    el("td", {}, pill(row.outcome)),
    el("td", {}, el("a", { href: row.link, class: "open" }, row.uid)),
    el("td", { class: "number" }, String(row.repetition), attempt),
    el("td", {}, row.phase ? `in phase ${row.phase}` : (row.finish ?? "—")),
    el("td", { class: "number" }, seconds(row.time)),
    el("td", { class: "number" }, row.tokens ? count(row.tokens) : ""),
    el("td", { class: "note" }, el("span", { class: "clamp" }, row.note), row.result ? "" : el("span", { class: "dim" }, " (made again)")),
  );
}

let grown;
function drawList() {
  choose();
  grown?.stop();
  byId("shown").textContent = `${count(chosen.length)} of ${plural(ROWS.length, "row")}`;
  byId("none").hidden = chosen.length > 0;
  for (const head of byId("list").tHead.rows[0].cells) {
    head.removeAttribute("aria-sort");
    if (head.dataset.by === order.by) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
  }
  for (const button of document.querySelectorAll(".figures button")) {
    button.setAttribute("aria-pressed", String(button.dataset.outcome === filters.outcome));
  }
  const more = growing(byId("list").tBodies[0], chosen, line);
  byId("list-more").replaceChildren(more);
  grown = more;
}

function options(select, field) {
  const counts = new Map();
  for (const row of ROWS) {
    const values = field === "tool" ? row.tools.map(tool => INDEX.tools[tool]) : [row[field]];
    for (const value of new Set(values)) if (value) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const names = [...counts.keys()].sort();
  select.append(...names.map(name => el("option", { value: name }, `${name} (${count(counts.get(name))})`)));
  select.closest("label").hidden = names.length < (field === "phase" || field === "tool" ? 1 : 2);
}

function startList() {
  const head = byId("list").tHead.rows[0];
  for (const [by, words, kind] of COLUMNS) {
    const button = el("button", { type: "button" }, words);
    button.addEventListener("click", () => {
      order = { by, down: order.by === by && !order.down };
      drawList();
    });
    head.append(el("th", { scope: "col", class: kind, "data-by": by }, button));
  }
  byId("list").classList.toggle("untold", ROWS.every(row => !row.tokens));
  for (const field of document.querySelectorAll(".filter [name]")) {
    if (field.tagName === "SELECT" && field.name !== "tries") options(field, field.name);
    if (field.name === "tries") field.closest("label").hidden = ROWS.every(row => row.result);
    // What a browser keeps over a reload is told to the list, too.
    filters[field.name] = field.value;
    field.addEventListener("input", () => {
      filters[field.name] = field.value;
      drawList();
    });
  }
  for (const button of document.querySelectorAll(".figures button")) {
    button.addEventListener("click", () => {
      filters.outcome = filters.outcome === button.dataset.outcome ? "" : button.dataset.outcome;
      drawList();
    });
  }
  byId("clear").addEventListener("click", () => {
    for (const field of document.querySelectorAll(".filter [name]")) {
      field.value = field.name === "tries" ? "results" : "";
      filters[field.name] = field.value;
    }
    filters.outcome = "";
    drawList();
  });
}

let gridDrawn = false;
function drawTasks() {
  if (gridDrawn) return;
  gridDrawn = true;
  const tasks = INDEX.tasks.map(([uid]) => ({ uid, cells: [], passed: 0, clean: 0 }));
  for (const row of ROWS.filter(each => each.result)) {
    const task = tasks[row.task];
    task.cells.push(row);
    task.passed += row.outcome.name === "passed";
    task.clean += row.outcome.name !== "system_error";
  }
  tasks.sort((one, other) => (one.uid < other.uid ? -1 : 1));
  const rate = task => (task.clean ? task.passed / task.clean : 2);
  const orders = {
    uid: () => 0,
    hard: (one, other) => rate(one) - rate(other),
    broken: (one, other) => other.cells.length - other.clean - (one.cells.length - one.clean),
  };
  const draw = task =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, task.uid),
      el("td", { class: "number" }, task.clean ? `${task.passed}/${task.clean}` : "—"),
      el("td", {}, el("span", { class: "cells" }, task.cells.map(square))),
    );
  const redraw = () => {
    const more = growing(byId("grid").tBodies[0], [...tasks].sort(orders[byId("grid-order").value]), draw, 80);
    byId("grid-more").replaceChildren(more);
  };
  byId("grid-order").addEventListener("input", redraw);
  redraw();
}
const square = row =>
  el(
    "a",
    {
      href: row.link,
      class: row.outcome.name,
      title: `repetition ${row.repetition}: ${row.outcome.words}${row.note ? `. ${row.note}` : ""}`,
      "aria-label": `repetition ${row.repetition}: ${row.outcome.words}`,
    },
    row.outcome.sign,
  );
