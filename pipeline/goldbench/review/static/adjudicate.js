"use strict";
// Third decisions, and queries reported as bad. Only passages come as HTML, from the server's sanitiser.

const WRONG = { unclear: "unclear", not_stand_alone: "does not stand alone", unrealistic: "nobody would ask it", too_broad: "too broad", wrong_language: "wrong language" };
let disputes = [], others = 0, last = null; // the id of the last decision on this page that can be undone
let busy = false, raw = false, shownAt = 0;

async function call(path, body) {
  try {
    const answer = await request(path, body);
    alarm("");
    return answer;
  } catch (error) {
    alarm(error.status ? `Not saved: ${error.message}` : `${error.message} Nothing was saved.`);
    return null;
  }
}

function paint(dispute) { // with the quotes that people gave, where they stand in the passage
  if (raw) placeRaw($("text"), dispute.text);
  else placePassage($("text"), dispute.html);
  const quotes = dispute.said.map(({ evidence }) => [evidence, dispute.text.indexOf(evidence)]).filter(([quote, at]) => quote && at >= 0);
  markPassage($("text"), quotes.map(([quote, at]) => [at, at + quote.length, "evidence"]));
  $("raw").setAttribute("aria-pressed", String(raw));
}

function toggleRaw() {
  raw = !raw;
  if (disputes[0]) paint(disputes[0]);
}

function opinion({ grade, note, evidence }, number) {
  return make("div", { class: "said" },
    make("strong", {}, `Person ${number + 1}: ${grade}, ${nameOf(grade)}`),
    note && make("p", { dir: "auto" }, note),
    evidence && make("blockquote", { dir: "auto" }, evidence));
}

function show() {
  const dispute = disputes[0];
  $("left").textContent = dispute ? `${amount(disputes.length, "disagreement")} left` : others ? "No disagreements left for you." : "No disagreements left.";
  $("dispute").hidden = !dispute;
  shownAt = performance.now();
  if (!dispute) return;
  $("asks").textContent = dispute.asks;
  paintAsked(dispute);
  paint(dispute);
  $("said").replaceChildren(...dispute.said.map(opinion));
}

async function decide(grade) {
  const dispute = disputes[0];
  if (!dispute || busy || performance.now() - shownAt < TOO_SOON_MS) return;
  busy = true;
  const done = await call("/api/event", { kind: "adjudicate", pair: dispute.pair, grade });
  const why = $("alarm").textContent;
  await load();
  busy = false;
  if (!done) alarm(why);
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
  const wording = make("input", { maxlength: 2000, value: query.asks, dir: "auto" });
  const edit = () => wording.value.trim() && store({ kind: "edit_query", query: query.query, text: wording.value.trim() });
  return make("li", {},
    before && make("span", {}, "After “", make("bdi", {}, before), "”: "),
    make("bdi", {}, query.asks), ` (${query.reasons.map((reason) => WRONG[reason]).join(", ")}) `,
    make("span", { class: "row" },
      button("Judge it anyway", () => store({ kind: "reopen", query: query.query })),
      button("Reject it", () => store({ kind: "reject_query", query: query.query })),
      make("label", {}, "New wording ", wording),
      button("Use this wording", edit)));
}

function showBad(queries) { // an entry that has not changed stays, with what is typed in it
  const list = $("bad-queries"), wanted = new Map(queries.map((query) => [JSON.stringify(query), query]));
  for (const entry of [...list.children]) if (!wanted.delete(entry.dataset.query)) entry.remove();
  for (const [key, query] of wanted) {
    const entry = bad(query);
    entry.dataset.query = key;
    list.append(entry);
  }
  if (!queries.length) list.append(make("li", {}, "None."));
}

async function load() {
  const answer = await call("/api/adjudicate");
  if (!answer) return;
  person = answer.annotator;
  last = answer.undo;
  $("undo").disabled = !last;
  disputes = answer.items;
  others = answer.others.length;
  $("others").replaceChildren(...answer.others.map(({ why, pairs }) => make("li", { dir: "auto" }, `${amount(pairs, "more disagreement")}: ${why}.`)));
  show();
  showBad(answer.bad);
}

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea")) return;
  const pressed = keyOf(event).toLowerCase();
  if (/^[0-3]$/.test(pressed)) decide(Number(pressed));
  else if (pressed === "u") undo();
  else if (pressed === "r") toggleRaw();
});
for (const grade of document.querySelectorAll("[data-grade]")) grade.addEventListener("click", (event) => event.detail < 2 && decide(Number(grade.dataset.grade)));
$("undo").addEventListener("click", undo);
$("raw").addEventListener("click", toggleRaw);
load();
