// What the page is drawn with. Text of a run reaches the page only through text nodes and attributes
// that are set by name: nothing in it can become markup or code.

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
  const drawn = children.flat(9).filter(child => child !== undefined && child !== null && child !== false && child !== "");
  node.append(...drawn.map(child => (child instanceof Node ? child : clean(child))));
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
    typeof value === "number" && context?.source && String(value) !== context.source ? new Exact(context.source) : value,
  );
const isPlain = value => value !== null && typeof value === "object" && !(value instanceof Exact) && !Array.isArray(value);
const isList = Array.isArray;

function json(value, indent = "") {
  if (value instanceof Exact) return value.source;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "—";
  const list = isList(value);
  const deeper = `${indent}  `;
  const parts = list ? value.map(each => json(each, deeper)) : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${json(each, deeper)}`);
  const [open, close] = list ? "[]" : "{}";
  const flat = `${open}${parts.join(", ")}${close}`;
  if (flat.length + indent.length <= 72 && !flat.includes("\n")) return flat;
  return `${open}\n${deeper}${parts.join(`,\n${deeper}`)}\n${indent}${close}`;
}

const LONG = 1400;
const LINES = 14;
// Text of any length: what is long is folded, and opened by a button.
function block(text, kind = "") {
  const long = text.length > LONG || text.split("\n").length > LINES;
  const pre = el("pre", { class: `${kind}${long ? " folded" : ""}`, tabindex: long ? 0 : null }, text);
  if (!long) return pre;
  const label = `Show all ${text.length} characters`;
  const button = el("button", { type: "button", class: "more", "aria-expanded": "false" }, label);
  button.addEventListener("click", () => {
    const open = !pre.classList.toggle("folded");
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "Show less" : label;
  });
  return el("div", { class: "long" }, pre, button);
}
