// One episode: verdict, figures, and the conversation with the state changes beside its calls.

const ROLES = { system: "System", user: "User", assistant: "Agent", tool: "Tool" };
const OPS = { insert: "added", update: "changed", delete: "deleted" };

function keyed(key) {
  if (!key) return "";
  return Object.entries(key).map(([name, value]) => `${name} ${typeof value === "string" ? value : json(value)}`).join(", ");
}

function jump(call) {
  return el(
    "button",
    { type: "button", class: "jump", onclick: () => go(`call-${call.place}`) },
    `call ${json(call.index)}, ${call.name}`,
  );
}
function go(id) {
  const place = byId(id);
  for (let node = place; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  place?.scrollIntoView({ block: "center" });
  place?.focus({ preventScroll: true });
}

// A row as a table of its columns; anything else as a value.
function columns(value) {
  const names = value !== null && typeof value === "object" && !(value instanceof Exact) && !Array.isArray(value) ? Object.keys(value) : [];
  if (!names.length || names.some(name => name.startsWith("$"))) return typed(value);
  return el("table", { class: "arguments" }, el("tbody", {}, names.map(name => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, typed(value[name]))))));
}

function drawReason(reason) {
  const where = [reason.table, keyed(reason.key), reason.column].filter(Boolean);
  const compared = "expected" in reason || "found" in reason;
  return el(
    "li",
    { class: "reason" },
    el("p", {}, el("b", {}, reason.title), where.length ? el("code", {}, ` ${where.join(" · ")}`) : ""),
    compared
      ? el(
          "dl",
          { class: "compare" },
          "expected" in reason ? [el("dt", {}, "expected"), el("dd", {}, columns(reason.expected))] : [],
          "found" in reason ? [el("dt", {}, "found"), el("dd", {}, columns(reason.found))] : [],
        )
      : el("p", {}, reason.message),
    (reason.look || reason.calls.length > 0) && el("p", { class: "look" }, reason.look, reason.calls.length ? [" Written by ", reason.calls.map((call, n) => [n ? ", " : "", jump(call)]), "."] : ""),
    compared ? el("details", {}, el("summary", {}, "In one line"), el("p", { class: "dim" }, reason.message)) : "",
  );
}

function drawVerdict(view, row) {
  if (row.outcome.name === "system_error") {
    const error = view.error ?? { title: "no verdict", look: "", phase: "unknown", type: "", message: "" };
    return el(
      "section",
      { class: "verdict system_error", "aria-label": "Verdict" },
      el("h3", {}, `No verdict: ${error.title}`),
      el("p", {}, "Infrastructure failed. This is not a failure of the agent, and stands in no denominator."),
      el("dl", { class: "compare" }, el("dt", {}, "phase"), el("dd", {}, el("code", {}, error.phase)), el("dt", {}, "error"), el("dd", {}, el("code", {}, error.type ?? ""))),
      block(error.message ?? ""),
      el("p", { class: "look" }, error.look),
      row.result ? "" : el("p", { class: "look" }, "The attempt was made again: another try of it has its result."),
    );
  }
  if (row.outcome.name === "failed") {
    return el(
      "section",
      { class: "verdict failed", "aria-label": "Verdict" },
      el("h3", {}, `Failed: ${plural(view.reasons.length, "reason")}`),
      el("ul", { class: "reasons" }, view.reasons.map(drawReason)),
    );
  }
  return el(
    "section",
    { class: "verdict passed", "aria-label": "Verdict" },
    el("h3", {}, "Passed"),
    el("p", {}, view.changed ? `The end state is as the task asks: ${plural(view.changed, "row")} changed, nothing else.` : "The end state is as the task asks: nothing changed."),
    view.score !== null && amount(view.score) !== 1 ? el("p", {}, `Score ${json(view.score)}`) : "",
  );
}

function drawChange(change) {
  const many = change.calls.length > 1;
  return el(
    "div",
    { class: `change ${change.op}` },
    el("p", {}, el("span", { class: "op" }, OPS[change.op] ?? change.op), " ", el("b", {}, change.table ?? ""), " ", el("code", {}, keyed(change.key))),
    el(
      "table",
      {},
      el("tbody", {}, change.cells.map(cell =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, cell.column),
          el(
            "td",
            {},
            change.op === "update"
              ? [el("del", {}, typed(cell.old)), el("span", { class: "arrow", "aria-label": "to" }, " → "), el("ins", {}, typed(cell.new))]
              : change.op === "delete" ? el("del", {}, typed(cell.old)) : el("ins", {}, typed(cell.new)),
          ),
        ),
      )),
    ),
    many ? el("p", { class: "dim" }, "The net of ", change.calls.map((call, n) => [n ? ", " : "", jump(call)])) : "",
  );
}

function pretty(text) {
  try {
    const found = parse(text);
    return typeof found === "object" && found !== null ? json(found) : text;
  } catch {
    return text;
  }
}

function drawAnswer(answer) {
  return el(
    "div",
    { class: `answer${answer.is_error ? " error" : ""}`, id: `message-${answer.n}`, tabindex: -1 },
    el("p", { class: "who" }, answer.is_error ? "the tool answers with an error" : "answer", el("span", { class: "dim" }, ` ${seconds(answer.seconds)}`)),
    block(pretty(answer.text)),
  );
}

function drawCall(call) {
  const names = Object.keys(call.arguments);
  const main = el(
    "div",
    { class: `call${call.executable ? "" : " refused"}`, id: `call-${call.place}`, tabindex: -1 },
    el("p", { class: "who" }, el("span", { class: "dim" }, call.index === null ? "call " : `call ${json(call.index)} `), el("b", {}, call.name || "(no name)"), call.status === "ok" ? "" : el("span", { class: "status" }, call.status)),
    call.executable ? "" : el("p", { class: "why" }, `Not executed: ${call.why}.`),
    call.executable && call.status !== "ok" ? el("p", { class: "dim" }, call.why) : "",
    names.length
      ? columns(call.arguments)
      : el("p", { class: "dim" }, "no arguments"),
    call.answer ? drawAnswer(call.answer) : el("p", { class: "dim" }, "no answer was recorded"),
  );
  return el("div", { class: "pair" }, main, el("div", { class: "beside" }, call.changes.map(drawChange)));
}

function drawStep(step) {
  const head = el(
    "p",
    { class: "who" },
    el("b", {}, `${ROLES[step.role] ?? step.role}${step.name ? ` ${step.name}` : ""}`),
    el("span", { class: "dim" }, ` ${seconds(step.seconds)}`),
    step.finish_reason && !["stop", "tool_calls"].includes(step.finish_reason) ? el("span", { class: "status" }, step.finish_reason) : "",
  );
  const attributes = { class: `step ${step.role}`, id: `message-${step.n}`, tabindex: -1 };
  if (step.role === "system") {
    return el("article", attributes, el("details", {}, el("summary", {}, el("b", {}, "System"), ` ${plural(step.text.length, "character")}`), el("pre", {}, step.text)));
  }
  const counts = Object.entries(step.counts ?? {}).map(([name, number]) => `${count(amount(number))} ${name}`);
  return el(
    "article",
    attributes,
    head,
    step.reasoning ? el("details", { class: "reasoning", open: step.reasoning.length < 400 }, el("summary", {}, "reasoning"), el("pre", {}, step.reasoning.trim())) : "",
    step.text.trim() ? block(step.text.trim(), "said") : "",
    (step.diagnostics ?? []).map(each => el("p", { class: "why" }, each)),
    (step.calls ?? []).map(drawCall),
    step.raw ? el("details", { class: "raw" }, el("summary", {}, "as the model wrote it", counts.length ? ` (${counts.join(", ")})` : ""), el("pre", {}, step.raw)) : "",
  );
}

// A bar a message: as high as the message took long.
function drawTimes(view) {
  const bars = [];
  for (const step of view.steps) {
    bars.push(step);
    for (const call of step.calls ?? []) if (call.answer) bars.push(call.answer);
  }
  const timed = bars.filter(step => step.seconds !== undefined);
  if (!timed.length) return "";
  const most = Math.max(...timed.map(step => amount(step.seconds)), 1e-6);
  return el(
    "section",
    { class: "times", "aria-label": "Time of each message" },
    el("div", { class: "bars" }, timed.map(step => {
      const words = `${ROLES[step.role] ?? step.role}: ${seconds(step.seconds)}`;
      const button = el("button", { type: "button", class: step.role, title: words, "aria-label": words, onclick: () => go(`message-${step.n}`) }, el("i", {}));
      button.firstChild.style.height = `${Math.max(3, (100 * amount(step.seconds)) / most)}%`;
      return button;
    })),
    el("p", { class: "dim" }, "Time of each message; the highest bar is ", seconds(most), ". ", ["assistant", "tool", "user"].map(role => [el("i", { class: `key ${role}` }), ` ${ROLES[role].toLowerCase()} `])),
  );
}

function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.filter(([, value]) => value).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}
function figuresOf(view) {
  const usage = Object.entries(view.usage).map(([role, tokens]) => [role, Object.entries(tokens ?? {})]).filter(([, each]) => each.length);
  const times = Object.entries(view.seconds).sort((one, other) => amount(other[1]) - amount(one[1]));
  const traffic = Object.entries(view.traffic).map(([role, counts]) => `${role}: ${Object.entries(counts ?? {}).filter(([, number]) => amount(number)).map(([name, number]) => name.endsWith("_s") ? `${name.slice(0, -2)} ${json(number)} s` : `${json(number)} ${name.replaceAll("_", " ")}`).join(", ")}`);
  const named = found => (found ? (found.model ?? found.name ?? json(found)) : "");
  return el(
    "section",
    { class: "card", "aria-label": "Figures" },
    facts([
      ["end", view.finish_reason ? `${view.finish_reason}${view.finish ? `: ${view.finish}` : ""}` : ""],
      ["policy", view.policy ? `${named(view.policy)}${view.simulated ? " (no model: simulated)" : ""}` : ""],
      ["user", named(view.user)],
      ["judge", named(view.judge)],
      ["tokens", usage.length ? usage.map(([role, each]) => el("div", {}, `${role}: ${each.map(([name, number]) => `${count(json(number))} ${name}`).join(", ")}`)) : ""],
      ["time", times.length ? times.slice(0, 8).map(([name, value]) => `${name} ${seconds(value)}`).join(", ") : ""],
      ["traffic", traffic.length ? traffic.map(each => el("div", {}, each)) : ""],
      ["started", view.started],
      ["seed", Object.keys(view.seeds).length ? Object.entries(view.seeds).map(([name, seed]) => `${name} ${json(seed)}`).join(", ") : ""],
      ["tags", view.tags.join(", ")],
      ["again", view.command ? el("code", { class: "command" }, view.command) : ""],
    ]),
    el("details", {}, el("summary", {}, "versions and settings"), el("pre", {}, json({ versions: view.versions, policy: view.policy, user: view.user, judge: view.judge, details: view.details }))),
  );
}

function drawRest(view) {
  const parts = [];
  if (view.changes.length) parts.push(el("h3", {}, "Changes that no call is known to have made"), view.changes.map(drawChange));
  if (view.schema_changes.length) parts.push(el("h3", {}, "Schema changes"), el("p", {}, el("code", {}, view.schema_changes.join(", "))));
  if (view.warnings.length) parts.push(el("h3", {}, "Warnings"), el("ul", {}, view.warnings.map(each => el("li", {}, each))));
  if (view.effects) {
    parts.push(el("h3", {}, "What the servers told at the end"));
    for (const [server, told] of Object.entries(view.effects)) {
      parts.push(el("div", { class: "change" }, el("p", {}, el("b", {}, server)), drawTold(told)));
    }
  }
  return parts.length ? el("section", { class: "rest" }, parts) : "";
}
function drawTold(told) {
  if (told === null || typeof told !== "object" || Array.isArray(told)) return typed(told);
  return el("table", {}, el("tbody", {}, Object.entries(told).map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, name === "diff" && Array.isArray(value) ? (value.length ? el("ul", {}, value.map(each => el("li", {}, typed(each)))) : "no difference") : typed(value))))));
}

function drawEpisode(view, row) {
  return [
    el("div", { class: "top" }, drawVerdict(view, row), figuresOf(view)),
    drawTimes(view),
    el("div", { class: "pair heads" }, el("h3", {}, "Conversation"), el("h3", { class: "beside" }, "State changes")),
    view.steps.length ? el("div", { class: "steps" }, view.steps.map(drawStep)) : el("p", { class: "dim" }, "It broke before the first message."),
    drawRest(view),
  ];
}
