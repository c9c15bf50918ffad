// Which view is shown: the address behind # says it, so that each can be sent to somebody.

const VIEWS = ["episodes", "tasks", "episode"];
let current;
let drawn;
let listPlace = 0;

function show(view) {
  if (!byId("view-episodes").hidden && view !== "episodes") listPlace = window.scrollY;
  for (const name of VIEWS) byId(`view-${name}`).hidden = name !== view;
  byId("summary").hidden = view === "episode";
  for (const link of document.querySelectorAll("nav.views a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function neighbour(step) {
  if (!chosen.includes(current)) return undefined;
  return chosen[chosen.indexOf(current) + step];
}

async function showEpisode(row) {
  current = row;
  show("episode");
  const head = byId("episode-head");
  const place = chosen.indexOf(row);
  const link = (to, words, key) => (to ? el("a", { href: to.link, class: "button", title: `key ${key}` }, words) : el("span", { class: "button off" }, words));
  head.replaceChildren(
    el("p", { class: "walk" }, el("a", { href: "#", class: "button", title: "key Escape" }, "← All episodes"), link(neighbour(-1), "Previous", "k"), link(neighbour(1), "Next", "j"), place >= 0 ? el("span", { class: "dim" }, `${count(place + 1)} of ${count(chosen.length)}`) : ""),
    el("h2", { tabindex: -1 }, row.uid, el("span", { class: "dim" }, ` #${row.repetition}${row.attempt ? ` try ${row.attempt}` : ""}`)),
    el("p", {}, pill(row.outcome), " ", el("span", { class: "dim" }, [row.domain, row.family].filter(Boolean).join(" · "))),
    el("p", { class: "tries" }, ROWS.filter(each => each.task === row.task && each.repetition === row.repetition && each !== row).map(each => el("a", { href: each.link }, `try ${each.attempt}: ${each.outcome.words}`, " "))),
  );
  document.title = `${clean(row.uid)} #${row.repetition}: ${row.outcome.words}`;
  const body = byId("episode-body");
  body.replaceChildren(el("p", { class: "dim" }, "Loading …"));
  try {
    const view = await episode(row);
    if (current !== row) return;
    if (view.simulated) head.append(el("p", { class: "banner", role: "note" }, "The policy is simulated: no model was asked."));
    body.replaceChildren(...drawEpisode(view, row).filter(part => part !== ""));
  } catch (error) {
    body.replaceChildren(el("p", { class: "why" }, error.message));
  }
  window.scrollTo(0, 0);
  head.querySelector("h2").focus({ preventScroll: true });
}

function found(hash) {
  try {
    return BY_LINK.get(hash) ?? BY_LINK.get(`#${address(decodeURIComponent(hash.slice(1)))}`);
  } catch {
    return undefined; // a % that encodes nothing
  }
}

function route() {
  const hash = location.hash;
  if (drawn === hash) return;
  drawn = hash;
  byId("lost").hidden = true;
  if (hash === "#/tasks") {
    show("tasks");
    drawTasks();
    document.title = INDEX.title;
    return;
  }
  const row = found(hash);
  if (row) {
    showEpisode(row);
    return;
  }
  byId("lost").hidden = hash.length < 2;
  show("episodes");
  document.title = INDEX.title;
  window.scrollTo(0, listPlace);
  const last = current && document.querySelector(`a.open[href="${CSS.escape(current.link)}"]`);
  last?.focus({ preventScroll: true });
}

function move(step) {
  const open = [...document.querySelectorAll("#list a.open")];
  const at = open.indexOf(document.activeElement);
  open[Math.max(0, Math.min(open.length - 1, at + step))]?.focus();
}

document.addEventListener("keydown", event => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
  if (event.key === "Escape") {
    if (typing) document.activeElement.blur();
    else if (location.hash) location.hash = "";
    return;
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  // A key may come before the place that the last one led to has been drawn.
  route();
  const step = { j: 1, k: -1 }[event.key];
  if (step && !byId("view-episode").hidden) {
    const to = neighbour(step);
    if (to) location.hash = to.link;
  } else if (step && !byId("view-episodes").hidden) {
    move(step);
  } else if (event.key === "/" && !byId("view-episodes").hidden) {
    event.preventDefault();
    document.querySelector(".filter input").focus();
  }
});

startList();
drawList();
window.addEventListener("hashchange", route);
route();
document.documentElement.dataset.ready = "yes";
performance.mark("ready");
