"use strict";
// Third decisions, and queries reported as bad. Texts become text nodes; only passages come as HTML, from the server's sanitiser.

const $ = (id) => document.getElementById(id);
const WRONG = { unclear: "unclear", not_stand_alone: "does not stand alone", unrealistic: "nobody would ask it", too_broad: "too broad", wrong_language: "wrong language" };
const TOO_SOON_MS = 40; // a key pressed sooner after a passage appears is the second half of a double press
let disputes = [], others = 0, last = null; // the id of the last decision on this page that can be undone
let person = null; // whose page this is: the server refuses a browser that somebody else's link was opened in
let busy = false, raw = false, shownAt = 0;

const fresh = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

function make(tag, text, more = {}) {
  const node = Object.assign(document.createElement(tag), more);
  node.textContent = text;
  return node;
}

async function call(path, body) {
  const headers = person === null ? {} : { "Goldbench-Person": encodeURIComponent(person) };
  const sent = body && { method: "POST", body: JSON.stringify({ client_id: fresh(), ...body }) };
  if (body) headers["Content-Type"] = "application/json";
  try {
    const answer = await fetch(path, { ...sent, headers });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    $("alarm").hidden = true;
    return found;
  } catch (error) {
    $("alarm").textContent = error instanceof TypeError || error instanceof SyntaxError ? "The server does not answer; nothing was saved." : `Not saved: ${error.message}.`;
    $("alarm").hidden = false;
    return null;
  }
}

const disagreements = (n, more = "") => `${n} ${more}${n === 1 ? "disagreement" : "disagreements"}`;
const nameOf = (grade) => document.querySelector(`[data-grade="${grade}"] strong`).textContent;

function paint(one) { // with the quotes that people gave, where they stand in the passage
  if (raw) placeRaw($("text"), one.text);
  else placePassage($("text"), one.html);
  const quotes = one.said.map((said) => [said.evidence, one.text.indexOf(said.evidence)]).filter(([quote, at]) => quote && at >= 0);
  markPassage($("text"), quotes.map(([quote, at]) => [at, at + quote.length, "evidence"]));
  $("raw").setAttribute("aria-pressed", String(raw));
}

function toggleRaw() {
  raw = !raw;
  if (disputes[0]) paint(disputes[0]);
}

function show() {
  const one = disputes[0];
  $("left").textContent = disputes.length ? `${disagreements(disputes.length)} left` : others ? "No disagreements left for you." : "No disagreements left.";
  $("dispute").hidden = !one;
  shownAt = performance.now();
  if (!one) return;
  $("asks").textContent = one.asks;
  paintAsked(one);
  paint(one);
  $("said").replaceChildren(...one.said.map((said, i) => {
    const box = make("div", "", { className: "said" });
    box.append(make("strong", `Person ${i + 1}: ${said.grade}, ${nameOf(said.grade)}`));
    if (said.note) box.append(make("p", said.note, { dir: "auto" }));
    if (said.evidence) box.append(make("blockquote", said.evidence, { dir: "auto" }));
    return box;
  }));
}

async function decide(grade) {
  const one = disputes[0];
  if (!one || busy || performance.now() - shownAt < TOO_SOON_MS) return;
  busy = true;
  const done = await call("/api/event", { kind: "adjudicate", pair: one.pair, grade });
  const why = $("alarm").textContent;
  await load();
  busy = false;
  if (done) return;
  $("alarm").textContent = why;
  $("alarm").hidden = false;
}

async function store(body) { // one act after another: a second click is not a second act
  if (busy) return;
  busy = true;
  if (await call("/api/event", body)) await load();
  busy = false;
}

const undo = () => last && store({ kind: "undo", undoes: last });

function bad(query) {
  const before = query.turns.slice(0, -1).map(({ who, says }) => `${who}: ${says}`).join(" ");
  const entry = make("li", "");
  if (before) entry.append("After “", make("bdi", before), "”: ");
  entry.append(make("bdi", query.asks), ` (${query.reasons.map((reason) => WRONG[reason]).join(", ")}) `);
  const row = make("span", "", { className: "row" });
  for (const [kind, name] of [["reopen", "Judge it anyway"], ["reject_query", "Reject it"]]) {
    const button = make("button", name, { type: "button" });
    button.addEventListener("click", () => store({ kind, query: query.query }));
    row.append(button);
  }
  const label = make("label", "New wording ");
  const wording = make("input", "", { maxLength: 2000, value: query.asks, dir: "auto" });
  const keep = make("button", "Use this wording", { type: "button" });
  keep.addEventListener("click", () => wording.value.trim() && store({ kind: "edit_query", query: query.query, text: wording.value.trim() }));
  label.append(wording);
  row.append(label, keep);
  entry.append(row);
  return entry;
}

function showBad(queries) { // an entry that has not changed stays, with what is typed in it
  const list = $("bad-queries"), wanted = new Map(queries.map((one) => [JSON.stringify(one), one]));
  for (const entry of [...list.children]) if (!wanted.delete(entry.dataset.query)) entry.remove();
  for (const [key, one] of wanted) {
    const entry = bad(one);
    entry.dataset.query = key;
    list.append(entry);
  }
  if (!queries.length) list.append(make("li", "None."));
}

async function load() {
  const found = await call("/api/adjudicate");
  if (!found) return;
  person = found.annotator;
  last = found.undo;
  $("undo").disabled = !last;
  disputes = found.items;
  others = found.others.length;
  $("others").replaceChildren(...found.others.map(({ why, pairs }) => make("li", `${disagreements(pairs, "more ")}: ${why}.`, { dir: "auto" })));
  show();
  showBad(found.bad);
}

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea")) return;
  const pressed = keyOf(event).toLowerCase();
  if (/^[0-3]$/.test(pressed)) decide(Number(pressed));
  else if (pressed === "u") undo();
  else if (pressed === "r") toggleRaw();
});
for (const button of document.querySelectorAll("[data-grade]")) button.addEventListener("click", (event) => event.detail < 2 && decide(Number(button.dataset.grade)));
$("undo").addEventListener("click", undo);
$("raw").addEventListener("click", toggleRaw);
load();
