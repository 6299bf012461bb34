"use strict";
// The judging loop. A decision is shown at once, kept in the browser's storage, and sent until the server confirms it.
// Texts become text nodes; only passages come as HTML, from the server's sanitiser.

const AHEAD = 50; // passages in reserve, to judge while the server is away
const AT_ONCE = 20; // passages of one answer
const IDLE_MS = 30 * 60000; // a page that nobody touches for longer keeps no passages from others
const REASONS = ["unclear", "not_stand_alone", "unrealistic", "too_broad", "wrong_language"];
const DECIDED = [400, 409, 410]; // answers that are the same however often a decision is sent

let me = null; // the annotator, as the server knows them
let items = []; // passages shown and to be shown, in order
let at = 0;
let acts = []; // decisions on this page since it was opened, the last at the end; only the server knows older ones
let undone = [];
let queue = []; // events that the server has not confirmed yet
let store = ""; // the storage key of the queue
let keeps = true; // whether the browser's storage takes the queue
const aside = new Set(); // the ids of decisions that this set has no place for
let pumping = false, retry = null, dry = false;
let fetching = true; // the start ends it: what the address names comes before the queue
let stepping = false; // whether the server is taking back or repeating a decision from before this page was opened
let made = 0; // events so far: a count from before one of them is old
let shownAt = 0, painted = false, started = Date.now(), times = [];
let told = { total: 0, done: 0, mine: 0 }; // the server's counts of decided passages: by anybody, by this person
let notice = ""; // what the next passage's line of state says first
let raw = false, touched = Date.now();
const lit = { A: false, B: true, C: true };

const now = () => performance.now();
const current = () => items[at];
// --- saving --------------------------------------------------------------------------------------------------------

function keep() {
  write(store, queue);
  $("saved").textContent = queue.length ? `saving ${queue.length} …` : "saved ✓";
  count();
}

function write(key, events) {
  try {
    if (events.length) localStorage.setItem(key, JSON.stringify(events));
    else localStorage.removeItem(key);
    keeps = true;
  } catch { // its storage is full or forbidden
    keeps = false;
  }
}

function read(key) {
  try {
    const found = JSON.parse(localStorage.getItem(key));
    return Array.isArray(found) ? found : [];
  } catch { // not written by this page: it stays as it is
    return [];
  }
}

function adopt() { // also the queues of closed tabs, and of other sets at this address: an event sent twice is stored once
  for (const key of Object.keys(localStorage)) {
    const [, set, name] = /^goldbench ([0-9a-f]+) (.*) \S+$/.exec(key) || [];
    const found = name === me.annotator ? read(key) : [];
    queue.push(...found.map((event) => ({ set, ...event })));
    if (found.length) localStorage.removeItem(key);
  }
}

function setAside(event) { // the set that is served lacks the passage: the decision waits for its own set
  const key = `goldbench ${event.set} ${me.annotator} aside`;
  write(key, [...read(key).filter((one) => one.client_id !== event.client_id), event]);
  aside.add(event.client_id);
  tell("Not saved: this set does not hold that passage. The decision stays in this browser, and is sent when a set that holds it is served here.");
}

function send(event) {
  made += 1;
  queue.push({ client_id: newId(), set: me.set, ...event });
  keep();
  pump();
  return queue[queue.length - 1].client_id;
}

function waiting() { // pairs on this page, which the server must not hand out again; it is asked for more only when it knows all decisions
  return [...new Set(items.filter((item) => !item.said).map((item) => item.pair))].slice(-99);
}

const missing = () => Math.max(0, AHEAD - items.slice(at + 1).filter((item) => !item.said).length);

async function pump() {
  if (pumping) return;
  pumping = true;
  clearTimeout(retry);
  while (queue.length) {
    const { step, set, ...event } = queue[0];
    let answer = null, refusal = null;
    try {
      answer = await request("/api/event", { ...event, want: queue.length === 1 ? Math.min(AT_ONCE, missing()) : 0, have: waiting() });
    } catch (error) {
      refusal = error;
    }
    const stored = Number.isInteger(answer?.seq);
    if (!stored && !(DECIDED.includes(refusal?.status) && refusal.message)) { // also what another program at this address answers
      stuck(refusal?.message || "Something else than this review answers.");
      break;
    }
    const sent = queue.shift();
    if (answer?.count) told = answer.count;
    const lacks = refusal?.status === 410 || aside.has(event.undoes);
    if (!stored && lacks) setAside(sent);
    keep();
    if (stored) confirmed(event, answer);
    else if (!lacks) refused(event, refusal.message);
  }
  pumping = false;
  if (queue.length) return;
  alarm("");
  if (!dry && (!current() || missing())) fill();
  else if (!current()) show(); // only now it is known that nothing is left
}

function stuck(why) {
  warn(why);
  retry = setTimeout(pump, 1000);
}

function warn(why) {
  const where = keeps ? "kept in this browser, and sent again. Keep this page open." : "this browser cannot keep them. Do not close this page.";
  alarm(queue.length ? `${why} ${queue.length} not saved yet: ${where}` : why);
}

function refused(event, why) {
  tell(`Not saved: ${why}`);
  acts = acts.filter((act) => act.id !== event.client_id);
  const item = items.find((one) => one.pair === event.pair);
  if (item && event.kind === "judge") Object.assign(item, { said: null, grade: null });
}

function confirmed(event, body) {
  if (body.lost) drop(body.lost);
  if (body.items) append(body.items);
  const item = items.find((one) => one.pair === event.pair);
  const act = acts.find((one) => one.id === event.client_id);
  if (body.again && act) act.step = 0; // a repeated pair is not counted twice
  if (!body.revealed || !item) return;
  item.revealed = body.revealed;
  reveal(item, item === current() ? "" : "Previous passage: ");
}

// --- fetching and moving -------------------------------------------------------------------------------------------

function append(more) {
  const have = new Set(items.filter((item) => !item.said).map((item) => item.pair));
  const idle = at >= items.length;
  for (const item of more) if (!have.has(item.pair)) items.push(item);
  if (more.length) dry = false;
  if (idle) show();
}

function drop(lost) { // others had nothing left and took these over; what is on the screen stays
  const gone = new Set(lost);
  const here = current();
  const stays = (item) => item.said || item === here || !gone.has(item.pair);
  const before = items.slice(0, at).filter(stays).length;
  items = items.filter(stays);
  at = before;
}

async function fill() {
  const wanted = Math.min(current() ? AT_ONCE : 3, missing() + (current() ? 0 : 1)); // the first ones at once, the reserve after them
  if (fetching || !wanted || queue.length) return;
  fetching = true;
  let again = false;
  const before = made;
  try {
    const { items: more, lost, count: known } = await request(`/api/next?n=${wanted}&have=${waiting().join(",")}`);
    if (!queue.length && before === made) told = known;
    dry = !more.length;
    again = more.length === wanted;
    drop(lost);
    append(more);
    count();
    const passed = items.findIndex((item) => !item.said && !item.bad); // a query reported as bad does not come again
    if (!current()) {
      if (dry && passed >= 0) at = passed; // passages skipped without judging are shown again
      show();
    }
    if (!queue.length) alarm("");
  } catch (error) {
    warn(error.message);
    setTimeout(fill, 1000);
  }
  fetching = false;
  if (again) fill();
}

function go(position) {
  at = Math.max(0, Math.min(position, items.length));
  show();
  if (missing()) fill();
}

function advance() {
  let next = at + 1;
  while (next < items.length && items[next].said) next += 1;
  go(next);
}

function goTo(item) {
  const place = items.indexOf(item);
  if (place < 0) items.splice(at, 0, item);
  go(place < 0 ? at : place);
}

const occupied = () => document.querySelector("dialog[open]") || document.activeElement?.matches("textarea, input, select"); // an answer that comes late takes no one's keyboard away

function comesNext(item) {
  const here = current();
  if (item === here) return;
  items = items.filter((one) => one !== item);
  at = items.indexOf(here);
  items.splice(at + 1, 0, item);
}

// --- the screen ----------------------------------------------------------------------------------------------------

function show() {
  const item = current();
  const pair = item ? item.pair : "";
  const typed = document.activeElement === $("note") && $("note").dataset.pair === pair ? $("note").value : null;
  if (!$("noting").hidden && typed === null) keepNote();
  shownAt = now();
  painted = false;
  requestAnimationFrame(() => requestAnimationFrame(() => {
    if ($("text").dataset.pair === pair) { painted = true; $("text").dataset.painted = pair; }
  }));
  for (const id of ["before", "after", "evidence", "noting", "revealed"]) $(id).hidden = true;
  press("context", false);
  $("text").dataset.pair = pair;
  paintAsked(item);
  if (!item) return nothing();
  $("asks").textContent = item.asks;
  if ($("asks").scrollHeight > $("asks").clientHeight) $("asks").tabIndex = 0; // a long query scrolls, also by keys
  else $("asks").removeAttribute("tabindex");
  paint(item);
  for (const button of document.querySelectorAll("[data-grade]"))
    button.setAttribute("aria-pressed", String(item.said === "judge" && Number(button.dataset.grade) === item.grade));
  $("state").textContent = notice || (item.said ? `You said: ${decision(item)}.` : item.cut ? "Only the beginning of this passage is shown." : "");
  notice = "";
  if (item.note) noting(item, false);
  if (typed !== null) { // an answer of the server shows the passage again while somebody writes
    noting(item, true);
    $("note").value = typed;
  }
  quoted(item);
  if (item.revealed) reveal(item, "");
  count();
  scrollTo(0, 0);
}

function nothing() {
  const waits = queue.length ? "You judged all passages in reserve. The next ones come when the server is back." : "Loading …";
  const done = dry && !queue.length; // the answer to a decision may bring passages
  $("asks").textContent = done ? "Nothing is left to judge." : dry ? "Saving …" : waits;
  $("state").textContent = "";
  $("text").textContent = done ? "You have judged all your passages. The progress page shows how far people and the judge agree." : "";
  if (!dry) fill();
}

function paint(item) {
  const on = lit[item.lane];
  if (raw) placeRaw($("text"), item.text);
  else placePassage($("text"), item.html);
  const quote = item.evidence ? item.text.indexOf(item.evidence) : -1;
  const words = on ? item.marks.map(([start, end]) => [start, end, "word"]) : [];
  markPassage($("text"), quote < 0 ? words : [...words, [quote, quote + item.evidence.length, "evidence"]]);
  press("highlights", on);
  press("raw", raw);
}

function press(act, on) {
  document.querySelector(`[data-act="${act}"]`).setAttribute("aria-pressed", String(on));
}

function count() { // each passage counts once, by all its judgments: mine ≤ everyone's ≤ all
  if (!me) return;
  const unsent = queue.reduce((sum, event) => sum + (event.step || 0), 0);
  const mine = Math.max(0, Math.min(told.mine + unsent, told.total));
  const everyone = Math.max(told.done, mine);
  $("count").textContent = `You: ${mine} · Everyone: ${everyone} of ${told.total} · Left: ${told.total - everyone}`;
  const sorted = [...times].sort((a, b) => a - b);
  const middle = sorted.length ? sorted[Math.floor((sorted.length - 1) / 2)] / 1000 : me.median_s;
  $("pace").textContent = middle ? `${middle.toFixed(1)} s per passage` : "– s per passage";
}

async function stayInTouch() { // others judge too; and passages stay lent to a page that somebody uses
  if (queue.length || fetching || Date.now() - touched > IDLE_MS) return;
  const before = made;
  const found = await request(`/api/next?n=${current() ? 0 : 3}&have=${waiting().join(",")}`).catch(() => null);
  if (!found || queue.length) return;
  if (before === made) told = found.count;
  drop(found.lost);
  append(found.items);
  count();
}

function say(text) {
  $("live").textContent = text;
}

function tell(text) { // what both a reader and a listener must know
  say(text);
  $("state").textContent = text;
}

function reveal(item, before) {
  const { grade, quote } = item.revealed;
  const mine = item.said === "judge" ? `you said ${item.grade}, ` : "";
  $("revealed").firstElementChild.replaceChildren(`${before}${mine}the judge said ${grade}`, ...(quote ? [": “", make("bdi", {}, quote), "”"] : [", without a quote"]));
  $("revealed").dataset.pair = item.pair;
  $("revealed").hidden = false;
}

function quoted(item) {
  $("evidence").textContent = item.evidence;
  $("evidence").hidden = !item.evidence;
}

// --- actions -------------------------------------------------------------------------------------------------------

function decide(kind, more = {}) {
  const item = current();
  if (!item || stepping || !painted || now() - shownAt < TOO_SOON_MS) return;
  const ms = Math.round(now() - shownAt);
  const step = Number(kind !== "later") - Number(Boolean(item.said) && item.said !== "later");
  const was = { said: item.said, grade: item.grade };
  Object.assign(item, { said: kind, grade: kind === "judge" ? more.grade : null });
  const id = send({ kind, pair: item.pair, ms, highlights: lit[item.lane], step, ...more });
  acts.push({ id, item, was, is: { said: item.said, grade: item.grade }, step });
  undone = [];
  if (kind === "judge") times.push(ms);
  say(kind === "judge" ? `${more.grade}, ${nameOf(more.grade)}.` : `${SAID[kind]}.`);
  advance();
}

function badQuery(reason) {
  const item = current();
  $("bad").close();
  if (!item) return;
  const text = $("wording").value.trim();
  const id = send({ kind: "bad_query", pair: item.pair, reason });
  acts.push({ id, item, was: { said: item.said, grade: item.grade, bad: false }, is: { said: item.said, grade: item.grade, bad: true } });
  item.bad = true;
  if (text) acts.push({ id: send({ kind: "edit_query", query: item.query, text }), item, was: {}, is: {} });
  undone = [];
  say("Query reported as bad.");
  const rest = items.slice(at).filter((one) => one.query !== item.query);
  items = [...items.slice(0, at), item, ...rest];
  go(at + 1);
}

function undo() {
  if (stepping) return;
  const act = acts.pop();
  if (!act) return older("undo");
  undone.push(act);
  send({ kind: "undo", undoes: act.id, step: -(act.step || 0) });
  Object.assign(act.item, act.was);
  say("Undone.");
  goTo(act.item);
}

function redo() {
  if (stepping) return;
  const act = undone.pop();
  if (!act) return older("redo");
  acts.push(act);
  send({ kind: "redo", undoes: act.id, step: act.step || 0 });
  Object.assign(act.item, act.is);
  say("Redone.");
  goTo(act.item);
  advance();
}

async function older(kind) { // decisions from before this page was opened: only the server knows them
  if (queue.length) return tell("Wait: not everything is saved yet.");
  stepping = true;
  try {
    const { item } = await request("/api/event", { kind });
    const done = kind === "undo" ? "Undone." : "Redone.";
    if (!item) return say(done);
    const old = items.find((one) => one.pair === item.pair);
    if (old) Object.assign(old, item);
    stayInTouch();
    if (current() && occupied()) {
      if (kind === "undo") comesNext(old || item);
      return tell(kind === "undo" ? "Undone. Its passage comes next." : done);
    }
    say(done);
    goTo(old || item);
    if (kind === "redo") advance();
  } catch (error) {
    tell(error.message);
  } finally {
    stepping = false;
  }
}

function noting(item, focus) {
  $("noting").hidden = false;
  $("note").dataset.pair = item.pair;
  $("note").value = item.note || "";
  if (focus) $("note").focus();
}

function keepNote() {
  const item = items.find((one) => one.pair === $("note").dataset.pair);
  const text = $("note").value.trim();
  if (!item || text === (item.note || "")) return;
  item.note = text;
  send({ kind: "note", pair: item.pair, note: text });
}

function quote() {
  const item = current();
  if (!item) return;
  const place = selectedPlaces($("text"), item.text);
  const text = place ? item.text.slice(...place).slice(0, 4000) : "";
  if (!text) return tell("Select words of the passage first.");
  item.evidence = text;
  send({ kind: "note", pair: item.pair, evidence: text });
  quoted(item);
  paint(item);
  say("Quote saved.");
}

async function context() {
  const item = current();
  if (!item) return;
  const open = !$("before").hidden || !$("after").hidden;
  if (open) {
    $("before").hidden = $("after").hidden = true;
    return press("context", false);
  }
  if (!item.around) return tell("The passages around this one are not known.");
  try {
    item.near ||= await request(`/api/context?pair=${item.pair}`);
  } catch (error) {
    return tell(error.message);
  }
  if (item !== current()) return;
  for (const side of ["before", "after"]) {
    placePassage($(side), item.near[side] || "");
    $(side).hidden = item.near[side] === null;
  }
  press("context", true);
}

async function overview() {
  const item = current();
  if (!item) return;
  try {
    const { items: rows } = await request(`/api/query?query=${item.query}`);
    if (item !== current() || occupied()) return;
    $("rows").textContent = "";
    for (const row of rows) $("rows").append(line(row));
    $("overview").showModal();
  } catch (error) {
    tell(error.message);
  }
}

function line(row) {
  const here = items.find((item) => item.pair === row.pair);
  const open = async () => {
    $("overview").close();
    if (here) return goTo(here);
    const before = current();
    try {
      const item = await request(`/api/item?pair=${row.pair}`);
      if (before !== current() || occupied()) return tell("You went on before the passage was here: choose it again.");
      goTo(item);
    } catch (error) {
      tell(error.message);
    }
  };
  return make("li", {}, make("button", { type: "button", on: { click: open } }, make("b", {}, decision(here || row)), make("span", { dir: "auto" }, row.begins)));
}

const DO = {
  undo, redo, context, overview,
  later: () => decide("later"),
  cannot: () => decide("cannot"),
  bad: () => current() && ($("wording").value = "", $("bad").showModal()),
  note: () => current() && noting(current(), true),
  evidence: quote,
  highlights: () => { const item = current(); if (item) { lit[item.lane] = !lit[item.lane]; paint(item); } },
  raw: () => { const item = current(); raw = !raw; if (item) paint(item); say(raw ? "Raw text." : "Rendered."); },
  previous: () => go(at - 1),
  next: () => at < items.length && go(at + 1),
  help: () => $("help").showModal(),
};
const KEYS = { u: "undo", U: "redo", s: "later", x: "cannot", b: "bad", n: "note", e: "evidence", h: "highlights", r: "raw", c: "context", j: "next", k: "previous", g: "overview", "?": "help" };

function key(event) {
  if (event.repeat || event.isComposing) return;
  const pressed = keyOf(event);
  const typing = event.target.closest("textarea, input, select, [contenteditable]");
  const open = document.querySelector("dialog[open]");
  touched = Date.now();
  if (open) {
    if (open.id === "bad" && !typing && /^[1-5]$/.test(pressed) && !event.ctrlKey && !event.metaKey && !event.altKey) badQuery(REASONS[pressed - 1]);
    return;
  }
  if (typing) {
    if (event.key === "Escape" || (event.key === "Enter" && !event.shiftKey)) {
      event.preventDefault();
      event.target.blur();
    }
    return;
  }
  if (event.key === "Escape") return begin();
  if (event.ctrlKey || event.metaKey || event.altKey) {
    if (pressed.toLowerCase() !== "z" || event.altKey) return;
    event.preventDefault();
    return event.shiftKey ? redo() : undo();
  }
  const letter = event.shiftKey ? pressed.toUpperCase() : pressed.toLowerCase(); // whether or not Caps Lock is on
  if (/^[0-3]$/.test(pressed)) decide("judge", { grade: Number(pressed) });
  else if (Object.hasOwn(KEYS, letter)) DO[KEYS[letter]]();
  else return;
  event.preventDefault();
}

function begin() {
  $("welcome").hidden = true;
  try {
    localStorage.setItem(`goldbench-welcome ${me.annotator}`, "read");
  } catch { /* it is shown once more */ }
}

async function named() { // a passage that another page names, such as the history
  const key = new URLSearchParams(location.hash.slice(1)).get("pair");
  if (!key) return null;
  history.replaceState(null, "", "/");
  try {
    return await request(`/api/item?pair=${encodeURIComponent(key)}`);
  } catch (error) {
    notice = error.message;
    say(notice);
    return null;
  }
}

async function start() {
  try {
    me = await request("/api/session");
  } catch (error) {
    warn(error.message);
    setTimeout(start, 1000);
    return;
  }
  person = me.annotator;
  told = me.count;
  $("welcome").hidden = told.mine > 0 || Boolean(localStorage.getItem(`goldbench-welcome ${me.annotator}`));
  store = `goldbench ${me.set} ${me.annotator} ${newId()}`;
  adopt();
  keep();
  await pump();
  const first = await named();
  document.addEventListener("keydown", key);
  for (const button of document.querySelectorAll("[data-act]")) button.addEventListener("click", () => DO[button.dataset.act]());
  for (const button of document.querySelectorAll("[data-grade]")) button.addEventListener("click", (event) => event.detail < 2 && decide("judge", { grade: Number(button.dataset.grade) }));
  for (const button of document.querySelectorAll("[data-reason]")) button.addEventListener("click", () => badQuery(button.dataset.reason));
  for (const button of document.querySelectorAll("[data-close]")) button.addEventListener("click", () => button.closest("dialog").close());
  addEventListener("pointerdown", () => { touched = Date.now(); });
  $("begin").addEventListener("click", begin);
  $("note").addEventListener("blur", keepNote);
  $("keep").addEventListener("click", () => { $("revealed").hidden = true; });
  $("change").addEventListener("click", () => { const item = items.find((one) => one.pair === $("revealed").dataset.pair); if (item) goTo(item); });
  addEventListener("beforeunload", (event) => {
    if (!$("noting").hidden) keepNote();
    if (queue.length) event.preventDefault();
  });
  setInterval(() => { $("clock").textContent = `${Math.floor((Date.now() - started) / 60000)} min`; }, 5000);
  setInterval(stayInTouch, 30000);
  fetching = false;
  if (first) goTo(first);
  else if (current()) fill();
  else show();
}

start();
