// What all views share. Text of a run reaches the page only through text nodes and attributes that
// are set by name: nothing in it can become markup or code.

const byId = id => document.getElementById(id);

const UNSAFE = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]" +
    "|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]",
  "g",
);
// A picture or an escape for whatever is no plain character: control characters, half characters,
// and marks that turn the direction of text around and so could hide what stands there.
const clean = text =>
  String(text).replace(UNSAFE, found => {
    const code = found.charCodeAt(0);
    if (code < 32) return String.fromCharCode(0x2400 + code);
    return code === 127 ? "\u2421" : `\\u${code.toString(16).padStart(4, "0")}`;
  });

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "onclick") node.addEventListener("click", value);
    else node.setAttribute(name, value === true ? "" : clean(value));
  }
  node.append(
    ...children
      .flat(9)
      .filter(child => child !== undefined && child !== null && child !== false && child !== "")
      .map(child => (child instanceof Node ? child : clean(child))),
  );
  return node;
}

// A number as it was written, where JavaScript would change it: 1.0, or one of more than 53 bits.
class Exact {
  constructor(source) {
    this.source = source;
  }
}
const parse = text =>
  JSON.parse(text, (_, value, context) =>
    typeof value === "number" && context?.source && String(value) !== context.source
      ? new Exact(context.source)
      : value,
  );
const amount = value => (value instanceof Exact ? Number(value.source) : value);

function json(value, indent = "") {
  if (value instanceof Exact) return value.source;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const list = Array.isArray(value);
  const deeper = `${indent}  `;
  const parts = list
    ? value.map(each => json(each, deeper))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${json(each, deeper)}`);
  const [open, close] = list ? "[]" : "{}";
  const flat = `${open}${parts.join(", ")}${close}`;
  if (flat.length + indent.length <= 72 && !flat.includes("\n")) return flat;
  return `${open}\n${deeper}${parts.join(`,\n${deeper}`)}\n${indent}${close}`;
}

// A value with its type to be seen.
function typed(value) {
  if (value === undefined) return el("span", { class: "dim" }, "—");
  const kind = value === null ? "null" : value instanceof Exact ? "number" : typeof value;
  return el("code", { class: `value ${kind}` }, json(value));
}

function seconds(value) {
  if (value === undefined || value === null) return "";
  const found = amount(value);
  if (found >= 100) return `${Math.round(found)} s`;
  if (found >= 1) return `${found.toFixed(1)} s`;
  return found >= 0.001 ? `${Math.round(found * 1000)} ms` : "<1 ms";
}
const count = value => String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

const LINES = 14;
const LONG = 1400;
// Text of any length: what is long is folded, and opened by a button.
function block(text, kind = "") {
  const lines = text.split("\n").length;
  const long = lines > LINES || text.length > LONG;
  const pre = el("pre", { class: `${kind}${long ? " folded" : ""}`, tabindex: long ? 0 : null }, text);
  if (!long) return pre;
  const label = lines > LINES ? `all ${count(lines)} lines` : `all ${count(text.length)} characters`;
  const button = el("button", { type: "button", class: "more", "aria-expanded": "false" }, `Show ${label}`);
  button.addEventListener("click", () => {
    const open = !pre.classList.toggle("folded");
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "Show less" : `Show ${label}`;
  });
  return el("div", { class: "long" }, pre, button);
}

const OUTCOMES = [
  { name: "passed", words: "passed", sign: "✓" },
  { name: "failed", words: "failed", sign: "✗" },
  { name: "system_error", words: "system error", sign: "!" },
];
const pill = outcome =>
  el(
    "span",
    { class: `pill ${outcome.name}` },
    el("span", { "aria-hidden": "true" }, outcome.sign),
    ` ${outcome.words}`,
  );

// Rows that are added as one scrolls, so that ten thousand open at once.
function growing(body, items, draw, step = 150) {
  let shown = 0;
  const more = el("button", { type: "button", class: "more" });
  const grow = () => {
    body.append(...items.slice(shown, shown + step).map(draw));
    shown = Math.min(items.length, shown + step);
    more.hidden = shown >= items.length;
    more.textContent = `Show ${count(Math.min(step, items.length - shown))} more of ${count(items.length - shown)}`;
  };
  more.addEventListener("click", grow);
  body.replaceChildren();
  grow();
  const near = new IntersectionObserver(found => found.some(each => each.isIntersecting) && grow(), {
    rootMargin: "600px",
  });
  near.observe(more);
  more.stop = () => near.disconnect();
  return more;
}

const INDEX = JSON.parse(byId("index").textContent);
const LINKS = [];
const address = uid =>
  encodeURIComponent(uid.replace(UNSAFE, "\ufffd")).replaceAll("%2F", "/");
const ROWS = INDEX.rows.map((row, place) => {
  const [task, repetition, attempt, outcome, finish, phase, tools, time, tokens, chunk, within, note, result] = row;
  const [uid, domain, family] = INDEX.tasks[task];
  LINKS[task] ??= `#${address(uid)}`;
  return {
    place, task, uid, domain, family, repetition, attempt, finish, phase, tools, chunk, within, note,
    result: result === 1,
    outcome: OUTCOMES[outcome],
    time,
    tokens,
    link: `${LINKS[task]}/${repetition}/${attempt}`,
  };
});
const BY_LINK = new Map(ROWS.map(row => [row.link, row]));

// Conversations stand in the page, or in side files that are loaded when one is asked for. A side
// file is a script, because a page that was opened from a disk may load nothing else.
const waiting = new Map();
const loaded = new Map();
const KEPT = 12;
function arrived(number, text) {
  loaded.set(number, parse(text));
  if (loaded.size > KEPT) loaded.delete(loaded.keys().next().value);
  waiting.get(number)?.();
  waiting.delete(number);
}
window.outcomebox = arrived;
function chunk(number) {
  if (loaded.has(number)) return Promise.resolve(loaded.get(number));
  const within = byId(`chunk-${number}`);
  if (within) {
    arrived(number, within.textContent);
    return Promise.resolve(loaded.get(number));
  }
  return new Promise((found, broken) => {
    const source = `${INDEX.files}/${String(number).padStart(5, "0")}.js`;
    const script = el("script", { src: source.split("/").map(encodeURIComponent).join("/") });
    waiting.set(number, () => found(loaded.get(number)));
    script.addEventListener("load", () => script.remove());
    script.addEventListener("error", () =>
      broken(new Error(`${source} is not there: keep the folder beside the page`)),
    );
    document.head.append(script);
  });
}
async function episode(row) {
  const part = await chunk(row.chunk);
  const view = part.episodes[row.within];
  for (const step of view.steps) {
    if (typeof step.text === "number") step.text = part.texts[step.text];
  }
  return view;
}
