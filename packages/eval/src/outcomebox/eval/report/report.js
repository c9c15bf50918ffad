// Tables that sort and filter, the attempts of each task, and transcripts that are loaded when asked
// for. Without it the page is whole and readable but for the attempts.

for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement;
    const place = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = head.closest("table").tBodies[0];
    for (const open of body.querySelectorAll("tr.open")) open.remove();
    const kept = row => {
      const cell = row.cells[place];
      return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
    };
    const rows = [...body.rows].map(row => [kept(row), row]);
    rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
    body.append(...rows.map(([, row]) => row));
  });
}

for (const filter of document.querySelectorAll(".filter")) {
  const fields = [...filter.querySelectorAll("input, select")];
  const rows = [...byId(filter.dataset.table).tBodies[0].rows];
  const shown = filter.querySelector("output");
  const fits = (row, field) => {
    if (!field.value) return true;
    if (field.tagName === "SELECT") return (row.dataset[field.name] ?? "").split("\n").includes(field.value);
    return field.value.toLowerCase().split(/\s+/).every(word => row.cells[0].textContent.toLowerCase().includes(word));
  };
  const apply = () => {
    for (const open of byId(filter.dataset.table).querySelectorAll("tr.open")) open.remove();
    let count = 0;
    for (const row of rows) {
      row.hidden = !fields.every(field => fits(row, field));
      count += !row.hidden;
    }
    shown.textContent = `${count} of ${rows.length}`;
  };
  for (const field of fields) field.addEventListener("input", apply);
  filter.hidden = false;
  apply();
}

const OUTCOMES = [
  { name: "passed", words: "passed", sign: "✓" },
  { name: "failed", words: "failed", sign: "✗" },
  { name: "system_error", words: "system error", sign: "!" },
];
const DATA = JSON.parse(byId("data").textContent);
const address = (run, uid, attempt) => `#${run}/${encodeURIComponent(uid.replace(UNSAFE, "\ufffd")).replaceAll("%2F", "/")}/${attempt.repetition}/${attempt.attempt}`;
const PLACES = new Map();
const ATTEMPTS = DATA.runs.map((run, number) =>
  run.tasks.map(([uid, attempts]) => {
    const made = attempts.map(([repetition, attempt, outcome, end, signature, silent, chunk, within]) => ({
      run: number, uid, repetition, attempt, chunk, within,
      outcome: OUTCOMES[outcome].name, sign: OUTCOMES[outcome].sign, words: OUTCOMES[outcome].words,
      end: end === null ? "" : DATA.ends[end],
      signature: signature === null ? "" : DATA.signatures[signature],
      silent: silent === 1,
    }));
    made.forEach((each, place) => {
      each.link = address(number, uid, each);
      each.before = made[place - 1];
      each.after = made[place + 1];
      PLACES.set(each.link, each);
    });
    return made;
  }),
);

const square = each => {
  const words = `repetition ${each.repetition}${each.attempt ? `, try ${each.attempt}` : ""}: ${[each.silent ? "silent failure" : each.words, each.signature, each.end].filter(Boolean).join(", ")}`;
  const kind = `cell ${each.outcome}${each.silent ? " silent" : ""}`;
  return each.chunk === null ? el("span", { class: kind, title: words }, each.sign) : el("a", { class: kind, href: each.link, title: words, "aria-label": words }, each.sign);
};
// Squares are drawn as one scrolls to them: there may be a hundred thousand.
const near = new IntersectionObserver(
  found => {
    for (const { target, isIntersecting } of found) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      fill(target);
    }
  },
  { rootMargin: "800px" },
);
function fill(place) {
  if (place.childElementCount) return;
  const [run, task] = place.dataset.task.split(" ").map(Number);
  place.append(...ATTEMPTS[run][task].map(square));
}
for (const place of document.querySelectorAll(".cells[data-task]")) near.observe(place);
window.addEventListener("beforeprint", () => document.querySelectorAll(".cells[data-task]").forEach(fill));

// A side file is a script, because a page that was opened from a disk may load nothing else. Its rows
// come as text, and are read as JSON.
const waiting = new Map();
const loaded = new Map();
const KEPT = 8;
window.outcomebox = (number, rows) => {
  loaded.set(number, rows);
  if (loaded.size > KEPT) loaded.delete(loaded.keys().next().value);
  waiting.get(number)?.();
  waiting.delete(number);
};
function chunk(number) {
  if (loaded.has(number)) return Promise.resolve(loaded.get(number));
  return new Promise((found, broken) => {
    const source = `${DATA.files}/${String(number).padStart(5, "0")}.js`;
    const script = el("script", { src: source.split("/").map(encodeURIComponent).join("/") });
    waiting.set(number, () => found(loaded.get(number)));
    script.addEventListener("load", () => script.remove());
    script.addEventListener("error", () => broken(new Error(`${source} is not there: keep the folder beside the page`)));
    document.head.append(script);
  });
}

const dialog = byId("attempt");
let current;
async function open(about) {
  current = about;
  const step = (to, words) => (to && to.chunk !== null ? el("a", { class: "button", href: to.link }, words) : el("span", { class: "button off" }, words));
  byId("attempt-head").replaceChildren(
    el("p", { class: "walk" }, el("button", { type: "button", onclick: () => dialog.close() }, "Close"), step(about.before, "Previous"), step(about.after, "Next")),
    el("h2", { tabindex: -1 }, about.uid, el("span", { class: "dim" }, ` #${about.repetition}${about.attempt ? ` try ${about.attempt}` : ""}`)),
    el("p", { class: "dim" }, [DATA.runs[about.run].name, about.end ? `ended: ${about.end}` : ""].filter(Boolean).join(" · ")),
  );
  const body = byId("attempt-body");
  body.replaceChildren(el("p", { class: "dim" }, "Loading …"));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  try {
    const rows = await chunk(about.chunk);
    if (current !== about) return;
    body.replaceChildren(...drawRow(parse(rows[about.within]), about).flat(9).filter(Boolean));
  } catch (error) {
    body.replaceChildren(el("p", { class: "lost" }, error.message));
  }
  body.dataset.shown = about.link;
}
dialog.addEventListener("close", () => {
  current = undefined;
  if (PLACES.has(location.hash)) history.replaceState(null, "", location.href.split("#")[0]);
});
function route() {
  const about = PLACES.get(location.hash);
  if (about && about.chunk !== null) open(about);
  else if (dialog.open) dialog.close();
}
document.addEventListener("keydown", event => {
  if (!dialog.open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") dialog.close();
  const to = { j: current?.after, k: current?.before }[event.key];
  if (to && to.chunk !== null) location.hash = to.link;
});
window.addEventListener("hashchange", route);
route();
document.documentElement.dataset.ready = "yes";
