"use strict";
// The list of queries with its filters, the figures of the systems, and the address, which holds all of it.

const STEP = 100;
const WHERE = { set: "in the set", waiting: "waiting for a label", check: "rejected by a check", grading: "left out by grading", review: "left out by review", refresh: "retired with its documents" };
const SHOW = { all: "all queries", fails: "first system fails", unjudged: "first has unjudged", judged: "judged by people", differ: "both systems differ" };
const SORT = { set: "order of the set", worst: "worst of the first", best: "best of the first", difference: "largest difference", ahead: "first system ahead", behind: "second system ahead", unjudged: "most unjudged", words: "text of the query" };
const DEFAULTS = { query: "", find: "", where: "", kind: "", language: "", document: "", verdict: "", rule: "", cause: "", show: "all", sort: "set", measure: "", first: "", second: "" };
const LOOK_MS = 2000; // between two looks whether the files of the set changed
const FIELDS = Object.keys(DEFAULTS).filter((key) => key !== "query");

let data = null; // what the list shows
let state = { ...DEFAULTS };
let matching = []; // the lines that pass the filters, in order
let holding = null; // the queries whose passages hold the words looked for
let shown = 0;
let current = null; // the query on the page
let reached = ""; // the passage that the address leads to, until its query is open
let meant = ""; // the set that a link of another page is about

let questions = 0, alarmed = 0; // how many were asked, and before the last alarm
async function ask(question) {
  const mine = (questions += 1);
  try {
    const found = await question();
    if (mine > alarmed) alarm(""); // the answer to an earlier question leaves the alarm of a later one
    return found;
  } catch (error) {
    alarmed = questions;
    alarm(error.message);
    return null;
  }
}

const place = (system, otherwise) => { // a system of an experiment may have another name here
  const found = [system, `bench/${system}`].map((one) => data.systems.indexOf(one)).find((at) => at >= 0);
  return Math.max(0, found ?? Math.min(otherwise, data.systems.length - 1));
};
const chosen = () => [place(state.first, 0), place(state.second, 1)];
const measured = () => Math.max(0, data.measures.indexOf(state.measure));
const score = (row, system) => (row.scores ? row.scores[system][measured()] : null);
const value = (row, system) => score(row, system) ?? 0;
const title = (cause) => data.causes.find((one) => one.cause === cause)?.title.replace(" k", ` ${data.k}`) || cause;
const meaning = (cause) => {
  const found = data.causes.find((one) => one.cause === cause);
  return found ? `Why it fails: ${found.meaning.replace(/\bk\b/g, data.k)}.` : cause;
};

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const asked = new URLSearchParams(location.search);
  state = { ...DEFAULTS };
  for (const key of Object.keys(DEFAULTS)) state[key] = given.get(key) ?? asked.get(key) ?? DEFAULTS[key];
  [reached, meant] = [given.get("passage") ?? "", given.get("set") ?? ""];
}

function writeAddress(push) {
  const kept = Object.entries(state).filter(([key, text]) => text && text !== DEFAULTS[key]);
  const address = kept.length ? `#${new URLSearchParams(kept)}` : location.pathname + location.search;
  if (push) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

const tests = {
  all: () => true,
  fails: (row) => row.causes && row.causes[chosen()[0]]?.length > 0,
  unjudged: (row) => row.unjudged && row.unjudged[chosen()[0]] > 0,
  judged: (row) => row.people > 0,
  differ: (row) => row.scores && Math.abs(value(row, chosen()[0]) - value(row, chosen()[1])) > 1e-6,
};
const orders = {
  worst: (row) => value(row, chosen()[0]),
  best: (row) => -value(row, chosen()[0]),
  difference: (row) => -Math.abs(value(row, chosen()[0]) - value(row, chosen()[1])),
  ahead: (row) => value(row, chosen()[1]) - value(row, chosen()[0]),
  behind: (row) => value(row, chosen()[0]) - value(row, chosen()[1]),
  unjudged: (row) => -(row.unjudged ? row.unjudged[chosen()[0]] : 0),
};
const byScore = new Set(["worst", "best", "difference", "ahead", "behind"]);

function passes(row, words) {
  for (const key of ["where", "kind", "language", "verdict", "rule"]) if (state[key] && (row[key] || "") !== state[key]) return false;
  if (state.document && !row.document.toLowerCase().includes(state.document.toLowerCase())) return false;
  if (state.cause && !(row.causes && row.causes[chosen()[0]]?.includes(state.cause))) return false;
  if (byScore.has(state.sort) && score(row, chosen()[0]) === null) return false; // nothing to sort it by
  if (!(tests[state.show] || tests.all)(row)) return false;
  const text = `${row.id} ${row.text} ${row.answer} ${row.document}`.toLowerCase();
  return words.every((word) => text.includes(word)) || (holding !== null && holding.has(row.id));
}

function match() {
  const words = state.find.toLowerCase().split(/\s+/).filter(Boolean);
  matching = data.rows.filter((row) => passes(row, words));
  if (orders[state.sort]) {
    const keys = new Map(matching.map((row) => [row, orders[state.sort](row)]));
    matching.sort((a, b) => keys.get(a) - keys.get(b));
  } else if (state.sort === "words") matching.sort((a, b) => a.text.localeCompare(b.text));
}

function line(row) {
  const [first, second] = chosen();
  const figures = row.scores && data.systems.length
    ? make("span", { class: "number" }, make("bdi", {}, data.systems[first]), ` ${figure(score(row, first))}`, ...(second === first ? [] : [" · ", make("bdi", {}, data.systems[second]), ` ${figure(score(row, second))}`]))
    : make("span", { class: "number" }, WHERE[row.where]);
  const marks = [row.verdict !== "undecided" ? row.verdict : "", row.people ? "judged by people" : "", ...(row.causes?.[first] || []).map(title)].filter(Boolean);
  const link = make("a", { href: address(row.id), "data-query": row.id, "aria-current": row.id === state.query ? "true" : false }, make("span", { class: "asked", dir: "auto" }, row.text || row.id), figures, marks.length ? make("span", { class: "marks" }, marks.join(", ")) : "");
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(row.id);
  });
  return make("li", {}, link);
}

const address = (query) => `#${new URLSearchParams(Object.entries({ ...state, query }).filter(([key, text]) => text && text !== DEFAULTS[key]))}`;

function more() {
  $("list").append(...matching.slice(shown, shown + STEP).map(line));
  shown = Math.min(shown + STEP, matching.length);
  $("more").hidden = shown >= matching.length;
}

function showList() {
  match();
  shown = 0;
  $("list").replaceChildren();
  $("count").textContent = `${matching.length.toLocaleString("en")} of ${amount(data.rows.length, "query", "queries")}`;
  more();
}

function worst(system, measure, mean) { // a figure that shows the queries behind it, the worst first
  if (mean === null || mean === undefined) return figure(mean);
  return button(figure(mean, 4), () => set({ first: system, measure, show: "all", cause: "", sort: "worst" }), { class: "link", "aria-label": `${measure} of ${system}: ${figure(mean, 4)}; show the worst queries first` });
}

function showFigures() {
  const head = ["system", ...data.measures, ...(data.pending ? data.measures.map((measure) => `${measure}, decisions applied`) : []), `failures at ${data.k}`];
  const rows = data.means.map((one) => {
    const fails = one.failed ? button(String(one.failed), () => set({ first: one.system, show: "fails", cause: "", sort: "worst" }), { class: "link", "aria-label": `Show the ${one.failed} failures of ${one.system}` }) : "0";
    const applied = data.pending ? one.applied.map((mean) => make("td", {}, figure(mean, 4))) : [];
    return make("tr", {}, make("th", { scope: "row" }, name(one.system)), ...one.now.map((mean, at) => make("td", {}, worst(one.system, data.measures[at], mean))), ...applied, make("td", {}, fails));
  });
  $("figures").replaceChildren(make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))), make("tbody", {}, ...rows));
  $("pending").hidden = !data.pending;
  const causes = data.causes.map((one) => make("tr", {}, make("th", { scope: "row", title: one.meaning }, title(one.cause)), ...one.queries.map((count, at) => make("td", {}, count ? button(String(count), () => set({ first: data.systems[at], cause: one.cause, show: "all", sort: "worst" }), { class: "link", "aria-label": `Show the ${amount(count, "failure")} of ${data.systems[at]}: ${title(one.cause)}` }) : "0"))));
  $("causes").replaceChildren(make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "cause"), ...data.systems.map((system) => make("th", { scope: "col" }, name(system))))), make("tbody", {}, ...causes));
  $("causes-box").hidden = !data.causes.length;
  $("figures-box").hidden = !data.systems.length;
}

function options(field, values, all) {
  const select = $(field);
  const told = Array.isArray(values) ? values.map((one) => [one, one]) : Object.entries(values);
  select.replaceChildren(...(all ? [make("option", { value: "" }, all)] : []), ...told.map(([key, text]) => make("option", { value: key }, text)));
  select.closest("label").hidden = told.length < 2;
}

function fillFilters() {
  const known = (key) => [...new Set(data.rows.map((row) => row[key] || "").filter(Boolean))].sort();
  const present = (key, words) => Object.fromEntries(Object.entries(words).filter(([one]) => data.rows.some((row) => row[key] === one)));
  options("where", present("where", WHERE), "everywhere");
  options("kind", known("kind"), "every kind");
  options("language", known("language"), "every language");
  options("verdict", known("verdict"), "every verdict");
  options("rule", known("rule"), "every rule");
  options("cause", Object.fromEntries(data.causes.map((one) => [one.cause, title(one.cause)])), "every cause");
  options("show", data.systems.length ? SHOW : { all: SHOW.all, judged: SHOW.judged });
  options("sort", data.systems.length ? SORT : { set: SORT.set, words: SORT.words });
  options("measure", data.measures);
  options("first", data.systems);
  options("second", data.systems);
  $("documents").replaceChildren(...known("document").slice(0, 2000).map((value) => make("option", { value })));
  if (data.systems.length < 1) $("measure").closest("label").hidden = true;
}

function showFields() {
  const told = { ...state };
  if (data.systems.length) {
    const [first, second] = chosen();
    Object.assign(told, { first: data.systems[first], second: data.systems[second], measure: data.measures[measured()] });
  }
  if (["cause", "where", "kind", "language", "verdict", "rule", "document"].some((key) => state[key])) $("filters-box").open = true;
  for (const key of FIELDS) if (document.activeElement !== $(key) || $(key).matches("select")) $(key).value = told[key] ?? "";
}

function picker() { // the two systems, beside their lists
  const [first, second] = chosen();
  const select = (key, at, label) => {
    const made = make("select", { "aria-label": label }, ...data.systems.map((system, number) => make("option", { value: system, selected: number === at }, system)));
    made.addEventListener("change", () => set({ [key]: made.value }));
    return made;
  };
  if (data.systems.length < 2) return "";
  return make("p", { class: "row" }, select("first", first, "First system"), " against ", select("second", second, "Second system"));
}

async function set(changes) {
  Object.assign(state, changes);
  writeAddress(false);
  await search();
  showFields();
  showList();
  if (current && ("first" in changes || "second" in changes)) showAgain(current);
}

let searched = "";
async function search() {
  if (state.find === searched) return;
  searched = state.find;
  holding = null;
  if (state.find.trim().length < 2) return;
  const wanted = state.find;
  const found = await ask(() => source.found(wanted));
  if (wanted === state.find) holding = found;
}

let acts = Promise.resolve(); // they go to the server one after another, in the order in which a person did them
const underway = new Set(); // acts without an answer: a second click is not a second act

const page = {
  chosen, title, meaning, ask, picker,
  get query() { return current; },
  get level() { return data.level; },
  get settles() { return data.settles; },
  get measures() { return data.measures; },
  get annotator() { return data.annotator; },
  async act(body, done) {
    const act = { query: current.id, ...body }, words = JSON.stringify(act);
    if (underway.has(words)) return;
    underway.add(words);
    const answer = acts.then(() => ask(() => source.act(act)));
    acts = answer;
    const found = await answer;
    underway.delete(words);
    if (!found) return;
    if (state.query === act.query && current?.id === act.query) showAgain(found, body.note ?? body.text); // who went on to another query stays there
    $("live").textContent = done;
    await load();
  },
};

const pathOf = (node) => [node.closest("[data-id]")?.dataset.id || node.closest("article")?.getAttribute("aria-label") || "", node.closest(".system")?.getAttribute("aria-label") || "", node.querySelector("summary").textContent];
function reopen([id, system, text]) {
  for (const node of $("detail").querySelectorAll("details")) {
    const path = pathOf(node);
    if (path[0] === id && path[1] === system && (path[2] === text || (/^Judge/.test(path[2]) && /^Judge (this|again)/.test(text) && /^Judge (this|again)/.test(path[2])))) node.open = true;
  }
}

const fields = () => { // what a person fills in, by its place in the query
  const found = new Map(), places = new Map();
  for (const node of $("detail").querySelectorAll("textarea, #actions select")) {
    const place = [node.closest("[data-id]")?.dataset.id, node.closest(".system")?.getAttribute("aria-label")].join("\n");
    places.set(place, (places.get(place) ?? 0) + 1);
    found.set(`${place}\n${places.get(place)}`, node);
  }
  return found;
};

function showAgain(query, sent) { // with whatever was unfolded or filled in; not the text that was sent
  const unfolded = [...$("detail").querySelectorAll("details[open]")].map(pathOf), before = fields(), held = document.activeElement;
  showQuery(query);
  for (const path of unfolded) reopen(path);
  for (const [place, node] of fields()) {
    const old = before.get(place);
    if (!old) continue;
    if (old.value !== old.defaultValue && old.value.trim() !== sent) node.value = old.value;
    if (old !== held) continue;
    node.focus({ preventScroll: true });
    node.setSelectionRange?.(old.selectionStart, old.selectionEnd);
  }
}

function showQuery(query) {
  current = query;
  document.title = `${query.asks.slice(0, 80)} · goldbench open`;
  const at = matching.findIndex((row) => row.id === query.id);
  const step = (by, text, key) => button(text, () => go(by), { "aria-keyshortcuts": key, disabled: at < 0 || !matching[at + by] });
  $("detail").replaceChildren(make("p", { class: "row", id: "steps" }, button("Back to the list", close, { class: "back" }), step(-1, "Previous", "k"), step(1, "Next", "j"), at < 0 ? "" : make("span", { class: "quiet" }, `${(at + 1).toLocaleString("en")} of ${matching.length.toLocaleString("en")}`)), ...queryView(page));
  document.body.classList.add("one");
  for (const link of $("list").querySelectorAll("a[data-query]")) {
    if (link.dataset.query === query.id) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

const typing = () => document.activeElement?.matches("input, textarea, select"); // an answer that comes late takes no one's keyboard away

async function open(query, push = true) {
  const passage = reached;
  reached = "";
  state.query = query;
  writeAddress(push);
  const found = await ask(() => source.query(query));
  if (state.query !== query) return;
  if (!found) return close(false);
  showQuery(found);
  $("detail").scrollTop = 0;
  if (matchMedia("(max-width: 60rem)").matches) scrollTo(0, 0);
  if (!typing()) $("detail").focus({ preventScroll: true });
  if (passage) reach(passage);
}

function close(push = true) {
  current = null;
  state.query = "";
  document.body.classList.remove("one");
  document.title = document.title.replace(/^.* · /, "");
  $("detail").replaceChildren(make("p", { class: "quiet" }, "Choose a query."));
  if (push !== false) writeAddress(true);
  if (!typing()) $("list").querySelector("a[aria-current]")?.focus();
  for (const link of $("list").querySelectorAll("a[aria-current]")) link.removeAttribute("aria-current");
}

function go(by) {
  const at = matching.findIndex((row) => row.id === state.query);
  const target = matching[at < 0 ? 0 : at + by];
  if (target) open(target.id);
}

function reach(passage) { // show a passage of the query, ready to be judged
  const found = [...$("detail").querySelectorAll("[data-id]")].find((one) => one.dataset.id === passage);
  if (!found) return;
  const judge = found.querySelector("details.judge");
  if (judge) judge.open = true;
  found.scrollIntoView({ block: "start" });
  if (!typing()) judge?.querySelector("summary").focus({ preventScroll: true });
}

const written = () => [...$("detail").querySelectorAll("textarea")].some((one) => one.value !== one.defaultValue);

async function look() { // read everything again if the files of the set changed
  let found;
  try {
    found = await source.look();
  } catch {
    return; // the next question tells that the server does not answer
  }
  if (found.read === data.read) return;
  searched = ""; // the passages may hold other words now
  await load();
  $("renewed").textContent = found.problem || `The set was changed and read again at ${new Date().toLocaleTimeString("en-GB")}.`;
  $("renewed").hidden = false;
  if (!current || written()) return;
  const wanted = state.query;
  const query = data.rows.some((row) => row.id === wanted) ? await ask(() => source.query(wanted)) : null;
  if (wanted !== state.query) return;
  if (query) showAgain(query);
  else close();
}

function folded(brief, whole) { // a long warning: what it begins and ends with, and all of it on a click
  return make("details", {}, make("summary", { dir: "auto" }, brief), said(whole));
}

async function looks() { // one after another, however slow the server is
  await look();
  setTimeout(looks, LOOK_MS);
}

let lists = 0, listed = 0; // how often the list was asked for, and which answer is shown
async function load() {
  const mine = (lists += 1);
  const found = await ask(() => source.list());
  if (!found || mine < listed) return false;
  listed = mine;
  data = found;
  const told = [data.notice, ...data.problems, meant && meant !== data.name ? `The link that led here is about the set ${meant}; this page shows ${data.name}. Start goldbench open with the other set.` : ""];
  $("set").replaceChildren(name(data.set));
  $("about").textContent = `${amount(data.queries, "query", "queries")}, ${amount(data.passages, "passage")}, ${amount(data.systems.length, "system")}`;
  $("warnings").replaceChildren(...told.filter(Boolean).map((text) => (text === data.notice && data.brief !== text ? folded(data.brief, text) : said(text))));
  showFigures();
  fillFilters();
  await search();
  showFields();
  showList();
  return true;
}

for (const key of FIELDS) $(key).addEventListener("input", () => set({ [key]: $(key).value }));
for (const form of ["filters", "more-filters"]) $(form).addEventListener("submit", (event) => event.preventDefault());
$("clear").addEventListener("click", () => set({ ...DEFAULTS, query: state.query, first: state.first, second: state.second, measure: state.measure }));
$("more").addEventListener("click", more);
addEventListener("popstate", async () => {
  readAddress();
  if (!data) return;
  await search();
  showFields();
  showList();
  if (state.query) open(state.query, false);
  else close(false);
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "j") go(1);
  else if (event.key === "k") go(-1);
  else if (event.key === "/") { event.preventDefault(); $("find").focus(); }
  else if (event.key === "Escape" && state.query) close(); // also one that is on its way
});

readAddress();
load().then(async (loaded) => {
  if (loaded && source.look) setTimeout(looks, LOOK_MS);
  if (loaded && state.query) await open(state.query, false);
  document.body.dataset.ready = "true";
});
