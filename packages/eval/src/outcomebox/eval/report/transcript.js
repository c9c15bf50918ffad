// One attempt as its row tells it. Rows come from systems of several kinds: what a row lacks is left
// out, and a row of another form is shown as it stands.

const ROLES = { system: "System", user: "User", assistant: "Agent", tool: "Tool" };
const OPS = { insert: "added", update: "changed", delete: "deleted" };
const told = value => (typeof value === "string" ? value : json(value));

function textOf(content) {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  if (isList(content)) return content.map(part => (isPlain(part) && "text" in part ? told(part.text) : told(part))).join("\n");
  return json(content);
}
function pretty(text) {
  try {
    const found = parse(text);
    return typeof found === "object" && found !== null ? json(found) : text;
  } catch {
    return text;
  }
}
const value = each => el("code", { class: "value" }, each === undefined ? "—" : json(each));
const pairs = entries => el("table", { class: "pairs" }, el("tbody", {}, entries.map(([name, each]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, each instanceof Node ? each : value(each))))));
const keyed = key => (isPlain(key) ? Object.entries(key).map(([name, each]) => `${name} ${told(each)}`).join(", ") : "");

function drawReason(reason) {
  if (!isPlain(reason)) return el("li", {}, told(reason));
  const where = [reason.table, keyed(reason.key), reason.column].filter(Boolean).join(" · ");
  // A column may hold NULL, or be to hold it; elsewhere null says that there is nothing.
  const compared = ["expected", "found"].filter(side => reason.column || (reason[side] !== null && reason[side] !== undefined));
  const shown = each => (isPlain(each) && Object.keys(each).length ? pairs(Object.entries(each)) : value(each));
  return el(
    "li",
    {},
    el("p", {}, el("b", {}, told(reason.kind ?? "").replaceAll("_", " ")), where ? el("code", {}, ` ${where}`) : ""),
    compared.length ? pairs(compared.map(side => [side, shown(reason[side])])) : "",
    el("p", { class: "dim" }, told(reason.message ?? "")),
  );
}

function drawVerdict(row, about) {
  const verdict = isPlain(row.verdict) ? row.verdict : {};
  const error = row.error ?? verdict.details?.error;
  const reasons = isList(verdict.reasons) ? verdict.reasons : [];
  const signature = about.signature ? el("p", {}, `Signature: ${about.signature}${about.silent ? "; a silent failure: it ended cleanly, wrote, and no tool had refused last" : ""}.`) : "";
  if (about.outcome === "system_error") {
    return el("section", { class: "verdict system_error" }, el("h3", {}, "No verdict: infrastructure failed"), el("p", { class: "dim" }, "It counts in no rate."), error ? pairs(isPlain(error) ? Object.entries(error) : [["error", error]]) : "");
  }
  return el(
    "section",
    { class: `verdict ${about.outcome}` },
    el("h3", {}, about.outcome === "passed" ? "Passed" : `Failed${reasons.length ? `: ${reasons.length} reason${reasons.length > 1 ? "s" : ""}` : ""}`),
    signature,
    reasons.length ? el("ul", {}, reasons.map(drawReason)) : "",
  );
}

function drawCall(call, answers) {
  const inner = isPlain(call.function) ? call.function : call;
  let given = inner.arguments ?? {};
  if (typeof given === "string") {
    try {
      given = parse(given);
    } catch {
      given = { "(as written)": given };
    }
  }
  const answer = answers.get(call.id);
  if (answer) answers.delete(call.id);
  const refused = call.executable === false;
  return el(
    "div",
    { class: `call${refused ? " refused" : ""}` },
    el("p", {}, el("b", {}, told(inner.name ?? "(no name)")), call.status && call.status !== "ok" ? el("span", { class: "status" }, told(call.status)) : "", refused ? el("span", { class: "dim" }, " not executed") : ""),
    isPlain(given) ? (Object.keys(given).length ? pairs(Object.entries(given)) : el("p", { class: "dim" }, "no arguments")) : value(given),
    answer ? drawAnswer(answer) : el("p", { class: "dim" }, "no answer was recorded"),
  );
}
const drawAnswer = answer =>
  el("div", { class: `answer${answer.is_error ? " error" : ""}` }, el("p", { class: "dim" }, answer.is_error ? "answered with an error" : "answer"), block(pretty(textOf(answer.content))));

function drawMessages(messages) {
  const answers = new Map();
  const asked = new Set(messages.flatMap(each => (isPlain(each) && isList(each.tool_calls) ? each.tool_calls.map(call => call?.id) : [])));
  for (const each of messages) if (isPlain(each) && each.role === "tool" && asked.has(each.tool_call_id)) answers.set(each.tool_call_id, each);
  const beside = new Set(answers.values());
  return messages.filter(each => !beside.has(each)).map(message => {
    if (!isPlain(message)) return block(told(message));
    const text = textOf(message.content);
    const role = told(message.role ?? "");
    const name = el("b", {}, ROLES[role] ?? role);
    if (role === "system") return el("article", { class: "step" }, el("details", {}, el("summary", {}, name, ` ${text.length} characters`), el("pre", {}, text)));
    if (role === "tool") return el("article", { class: "step tool" }, el("p", {}, name), drawAnswer(message));
    const reasoning = textOf(message.reasoning ?? message.reasoning_content);
    return el(
      "article",
      { class: `step ${ROLES[role] ? role : ""}` },
      el("p", {}, name, message.finish_reason && !["stop", "tool_calls"].includes(message.finish_reason) ? el("span", { class: "status" }, told(message.finish_reason)) : ""),
      reasoning ? el("details", { open: reasoning.length < 400 }, el("summary", {}, "reasoning"), el("pre", { class: "dim" }, reasoning.trim())) : "",
      text.trim() ? block(text.trim(), "said") : "",
      isList(message.tool_calls) ? message.tool_calls.filter(isPlain).map(call => drawCall(call, answers)) : "",
    );
  });
}

function drawChange(change) {
  if (!isPlain(change)) return value(change);
  const [before, after] = [change.old ?? {}, change.new ?? {}];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(name => change.op !== "update" || json(before[name]) !== json(after[name]));
  const cell = name =>
    change.op === "update" ? el("span", {}, el("del", {}, value(before[name])), " → ", el("ins", {}, value(after[name]))) : value(name in after ? after[name] : before[name]);
  return el("div", { class: `change ${OPS[change.op] ? change.op : ""}` }, el("p", {}, el("span", { class: "op" }, OPS[change.op] ?? told(change.op)), " ", el("b", {}, told(change.table ?? "")), " ", el("code", {}, keyed(change.key))), pairs(names.map(name => [name, cell(name)])));
}

const SHOWN = ["uid", "repetition", "try", "domain", "family", "tags", "verdict", "messages", "changes", "checksum"];
function drawRow(row, about) {
  if (!isPlain(row)) return [block(told(row))];
  const messages = isList(row.messages) ? row.messages : [];
  const changes = isList(row.changes) ? row.changes : [];
  const rest = Object.entries(row).filter(([name]) => !SHOWN.includes(name));
  return [
    drawVerdict(row, about),
    changes.length ? el("details", { open: changes.length < 8 }, el("summary", {}, `State changes (${changes.length})`), changes.map(drawChange)) : "",
    messages.length ? el("h3", {}, "Conversation") : el("p", { class: "dim" }, "The row holds no conversation."),
    drawMessages(messages),
    el("details", {}, el("summary", {}, messages.length ? "The rest of the row" : "The row"), block(json(Object.fromEntries(messages.length ? rest : Object.entries(row))))),
  ];
}
