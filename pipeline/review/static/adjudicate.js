"use strict";
// Third decisions, and queries reported as bad. Texts become text nodes; only passages come as HTML, from the server's sanitiser.

const $ = (id) => document.getElementById(id);
const WRONG = { unclear: "unclear", not_stand_alone: "does not stand alone", unrealistic: "nobody would ask it", too_broad: "too broad", wrong_language: "wrong language" };
let disputes = [], others = 0;
let busy = false, raw = false;

const fresh = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

function make(tag, text, more = {}) {
  const node = Object.assign(document.createElement(tag), more);
  node.textContent = text;
  return node;
}

async function call(path, body) {
  try {
    const answer = await fetch(path, body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ client_id: fresh(), ...body }) });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    $("alarm").hidden = true;
    return found;
  } catch (error) {
    $("alarm").textContent = error instanceof TypeError ? "The server does not answer; nothing was saved." : error.message;
    $("alarm").hidden = false;
    return null;
  }
}

const passages = (n) => `${n} ${n === 1 ? "passage" : "passages"}`;

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
  $("left").textContent = disputes.length ? `${passages(disputes.length)} left` : others ? "No disagreements left for you." : "No disagreements left.";
  $("dispute").hidden = !one;
  if (!one) return;
  $("asks").textContent = one.asks;
  paintAsked(one);
  paint(one);
  $("said").replaceChildren(...one.said.map((said, i) => {
    const box = make("div", "", { className: "said" });
    box.append(make("strong", `${"ABCDEFGH"[i]}: ${said.grade}`));
    if (said.note) box.append(make("p", said.note, { dir: "auto" }));
    if (said.evidence) box.append(make("blockquote", said.evidence, { dir: "auto" }));
    return box;
  }));
}

async function decide(grade) {
  const one = disputes[0];
  if (!one || busy) return;
  busy = true;
  if (await call("/api/event", { kind: "adjudicate", pair: one.pair, grade })) disputes.shift();
  busy = false;
  show();
}

async function undo() {
  if (busy) return;
  busy = true;
  if (await call("/api/undo", {})) await load();
  busy = false;
}

function bad(query) {
  const before = query.turns.slice(0, -1).map(({ who, says }) => `${who}: ${says}`).join(" ");
  const entry = make("li", "");
  if (before) entry.append("After “", make("bdi", before), "”: ");
  entry.append(make("bdi", query.asks), ` (${query.reasons.map((reason) => WRONG[reason]).join(", ")}) `);
  const row = make("span", "", { className: "row" });
  for (const [kind, name] of [["reopen", "Judge it anyway"], ["reject_query", "Reject it"]]) {
    const button = make("button", name, { type: "button" });
    button.addEventListener("click", async () => {
      if (await call("/api/event", { kind, query: query.query })) load();
    });
    row.append(button);
  }
  const label = make("label", "New wording ");
  const wording = make("input", "", { maxLength: 2000, value: query.asks, dir: "auto" });
  const keep = make("button", "Use this wording", { type: "button" });
  keep.addEventListener("click", async () => {
    if (wording.value.trim() && (await call("/api/event", { kind: "edit_query", query: query.query, text: wording.value.trim() }))) load();
  });
  label.append(wording);
  row.append(label, keep);
  entry.append(row);
  return entry;
}

async function load() {
  const found = await call("/api/adjudicate");
  if (!found) return;
  disputes = found.items;
  others = found.others.length;
  $("others").replaceChildren(...found.others.map(({ why, pairs }) => make("li", `${passages(pairs)} more: ${why}.`, { dir: "auto" })));
  show();
  $("bad-queries").replaceChildren(...found.bad.map(bad));
  if (!found.bad.length) $("bad-queries").append(make("li", "None."));
}

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea")) return;
  if (/^[0-3]$/.test(event.key)) decide(Number(event.key));
  else if (event.key === "u") undo();
  else if (event.key === "r") toggleRaw();
});
for (const button of document.querySelectorAll("[data-grade]")) button.addEventListener("click", () => decide(Number(button.dataset.grade)));
$("undo").addEventListener("click", undo);
$("raw").addEventListener("click", toggleRaw);
load();
