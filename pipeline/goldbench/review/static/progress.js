"use strict";
// Counts and figures. Texts become text nodes, never HTML.

const $ = (id) => document.getElementById(id);
const LANES = { A: "random sample", B: "likely judge errors", C: "queries judged completely" };
let shown = ""; // the counts on the page
let cells = 0; // how often pairs were asked for: the last answer is shown
const amount = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;
const figure = (x) => (x.value === null ? `– (${x.reason})` : x.value.toFixed(2) + (x.low === null ? "" : ` [${x.low.toFixed(2)}, ${x.high.toFixed(2)}]`));

function make(tag, text, more = {}) {
  const node = Object.assign(document.createElement(tag), more);
  node.textContent = text;
  return node;
}

function table(head, rows, title) {
  const box = make("div", "", { className: "scroll", tabIndex: 0 });
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", title);
  const made = document.createElement("table");
  made.append(make("caption", title));
  const top = document.createElement("tr");
  head.forEach((cell) => top.append(make("th", cell, { scope: "col" })));
  made.append(top);
  for (const row of rows) {
    const line = document.createElement("tr");
    row.forEach((cell, i) => {
      const node = make(i ? "td" : "th", cell instanceof Node ? "" : cell);
      if (!i) node.scope = "row";
      if (cell instanceof Node) node.append(cell);
      line.append(node);
    });
    made.append(line);
  }
  box.append(made);
  return box;
}

function show(found) {
  const lanes = Object.entries(found.lanes).map(([name, lane]) => [LANES[name], `${lane.done}`, `${lane.mine}`, `${lane.total}`]);
  $("counts").replaceChildren(
    table(["Part", "judged", "by you", "total"], lanes, "Pairs"),
    make("p", `Judged twice: ${found.twice} of ${amount(found.wanted_twice, "pair")} for two people. Disagreements: ${found.disputed}. Bad queries: ${found.bad_queries}.`),
    make("p", `You gave ${amount(found.judged, "judgment")}, repeated pairs included; median time ${found.median_s === null ? "not known" : `${found.median_s} s`}; ${found.too_fast} in under 0.7 s.`),
    make("p", found.again.pairs ? `Repeated pairs: you gave the same grade to ${found.again.same} of ${found.again.pairs}.` : "No repeated pairs yet."),
  );
  $("people").replaceChildren(table(["Name", "judged", "target", "left"], found.people.map(someone), "Passages by person"));
  if (found.lanes.B) $("counts").append(make("p", order(found.order_rests_on, Boolean(found.lanes.A))));
  $("rules-list").replaceChildren(...found.rules.map((rule) => make("li", `${rule.rule}: ${rule.now} ${rule.holds === null ? "" : rule.holds ? " (done)" : " (not done)"}`)));
  agreement(found);
}

function someone({ name, judged, target, lead }) {
  const box = document.createElement("span");
  box.append(make("bdi", name), lead ? " (lead)" : "");
  return [box, `${judged}`, target === null ? "–" : `${target}`, target === null ? "–" : `${Math.max(0, target - judged)}`];
}

function order(judged, sampled) {
  if (judged) return `Likely judge errors: ordered by the judge's error rates in ${amount(judged, "judged pair")} of the random sample.`;
  const until = sampled ? " until 60 pairs of the random sample are judged" : "";
  return `Likely judge errors: ordered by fixed weights${until}.`;
}

function agreement(found) {
  const box = $("agreement");
  if (!found.figures) return box.replaceChildren(make("p", "Figures appear after 60 pairs of the random sample, so that they influence nobody."));
  const { agreement: judge, people, kinds, styles } = found.figures;
  box.replaceChildren(make("p", `The first ${amount(found.shown, "pair")} of the random sample, weighted to represent the pool they were drawn from.`));
  if (judge) box.append(confusion(judge.confusion, found.finished), figures(judge), meaning(judge));
  else box.append(make("p", "The judge graded none of these pairs."));
  if (people) box.append(table(["Between people", "value"], [["pairs", `${people.figures.pairs}`], ["kappa", figure(people.figures.kappa)], ["kappa, quadratic", figure(people.figures.kappa_quadratic)], ["alpha, ordinal", figure(people.alpha)]], "Agreement between people, the ceiling for a judge"));
  for (const [name, groups] of [["kind", kinds], ["style", styles]]) {
    const rows = Object.entries(groups).map(([value, one]) => [value, `${one.pairs}`, one.exact === null ? "–" : one.exact.toFixed(2), one.kappa === null ? "–" : one.kappa.toFixed(2)]);
    if (rows.length) box.append(table([`Query ${name}`, "pairs", "exact", "kappa, quadratic"], rows, `By query ${name}`));
  }
}

function confusion(cells, finished) {
  const rows = cells.map((row, human) => [`people ${human}`, ...row.map((n, judge) => (finished && n ? drill(n, human, judge) : `${n}`))]);
  return table(["", ...cells.map((_, judge) => `judge ${judge}`)], rows, "Pairs by grade");
}

function drill(n, human, judge) {
  const button = make("button", `${n}`, { type: "button" });
  button.setAttribute("aria-label", `${amount(n, "pair")}: people ${human}, judge ${judge}`);
  button.addEventListener("click", async () => {
    const mine = (cells += 1);
    const body = await ask(`/api/cell?human=${human}&judge=${judge}`);
    if (!body || mine !== cells) return;
    $("cell").replaceChildren(make("h2", `People ${human}, judge ${judge}`), ...body.items.map(pair));
    $("cell").scrollIntoView();
  });
  return button;
}

function pair(item) {
  const box = make("div", "", { className: "said" });
  box.append(make("strong", item.asks, { dir: "auto" }), make("p", item.begins, { dir: "auto" }));
  if (item.revealed) box.append(make("p", `You said ${item.grade}, the judge ${item.revealed.grade}${item.revealed.quote ? ":" : ""}`));
  if (item.revealed && item.revealed.quote) box.append(make("blockquote", item.revealed.quote, { dir: "auto" }));
  return box;
}

function figures(judge) {
  const names = { exact: "exact", kappa: "kappa", kappa_quadratic: "kappa, quadratic", kappa_binary: "kappa, relevant or not", alpha: "alpha, ordinal", bias: "bias (judge − people)" };
  const rows = Object.entries(names).map(([key, name]) => [name, figure(judge[key])]);
  return table(["Figure", "value [95 %]"], [...rows, ["pairs", `${judge.pairs}, equivalent to ${judge.effective_pairs.toFixed(0)} drawn with equal probability`]], "Agreement");
}

function meaning(judge) {
  const rows = judge.relevant_by_grade.map((one) => [`judge ${one.grade}`, `${one.relevant} of ${one.pairs}`, figure(one.share)]);
  return table(["", "people say 2 or 3", "share [95 %]"], rows, "Share of pairs that people find relevant, by the judge's grade");
}

async function ask(path) {
  try {
    const answer = await fetch(path);
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.error);
    $("alarm").hidden = true;
    return body;
  } catch (error) {
    $("alarm").textContent = error instanceof TypeError || error instanceof SyntaxError ? "The server does not answer." : error.message;
    $("alarm").hidden = false;
    return null;
  }
}

async function load() { // what has not changed stays as it is, with the focus in it
  const body = await ask("/api/progress");
  const now = JSON.stringify(body);
  if (body && now !== shown) show(body);
  if (body) shown = now;
}

load();
setInterval(load, 15000);
