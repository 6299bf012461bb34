"use strict";
// Counts and figures.

let shown = ""; // the counts on the page
const figure = (x) => (x.value === null ? `– (${x.reason})` : x.value.toFixed(2) + (x.low === null ? "" : ` [${x.low.toFixed(2)}, ${x.high.toFixed(2)}]`));

function table(head, rows, title) {
  const cells = (row) => row.map((cell, i) => make(i ? "td" : "th", i ? {} : { scope: "row" }, cell));
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title },
    make("table", {}, make("caption", {}, title), make("tr", {}, ...head.map((cell) => make("th", { scope: "col" }, cell))), ...rows.map((row) => make("tr", {}, ...cells(row)))));
}

function show(found) {
  const lanes = Object.entries(found.lanes).map(([name, lane]) => [LANES[name], `${lane.done}`, `${lane.mine}`, `${lane.total}`]);
  $("counts").replaceChildren(
    table(["Part", "judged", "by you", "total"], lanes, "Pairs"),
    make("p", {}, `Judged twice: ${found.twice} of ${amount(found.wanted_twice, "pair")} for two people. Disagreements: ${found.disputed}. Bad queries: ${found.bad_queries}.`),
    make("p", {}, `You gave ${amount(found.judged, "judgment")}, repeated pairs included; median time ${found.median_s === null ? "not known" : `${found.median_s} s`}; ${found.too_fast} in under 0.7 s.`),
    make("p", {}, found.again.pairs ? `Repeated pairs: you gave the same grade to ${found.again.same} of ${found.again.pairs}.` : "No repeated pairs yet."),
  );
  $("people").replaceChildren(table(["Name", "judged"], found.people.map(someone), "Passages by person"));
  $("rules-list").replaceChildren(...found.rules.map((rule) => make("li", {}, `${rule.rule}: ${rule.found} ${rule.holds === null ? "" : rule.holds ? " (done)" : " (not done)"}`)));
  agreement(found);
}

function someone({ name, judged, lead }) {
  return [make("span", {}, make("bdi", {}, name), lead && " (lead)"), `${judged}`];
}

function agreement(found) {
  const box = $("agreement"), { agreement: judge, people } = found.figures;
  if (!found.shown) return box.replaceChildren(make("p", {}, "Figures appear after 60 pairs of the random sample, so that they influence nobody."));
  box.replaceChildren(make("p", {}, `The first ${amount(found.shown, "pair")} of the random sample, weighted to represent the pool they were drawn from.`));
  if (judge) box.append(confusion(judge.confusion), figures(judge), meaning(judge));
  else box.append(make("p", {}, "The judge graded none of these pairs."));
  if (people) box.append(table(["Between people", "value"], [["pairs", `${people.pairs}`], ["kappa", figure(people.kappa)], ["kappa, quadratic", figure(people.kappa_quadratic)], ["alpha, ordinal", figure(people.alpha)]], "Agreement between people, the ceiling for a judge"));
}

function confusion(cells) {
  const rows = cells.map((row, human) => [`people ${human}`, ...row.map((n) => `${n}`)]);
  return table(["", ...cells.map((_, judge) => `judge ${judge}`)], rows, "Pairs by grade");
}

function figures(judge) {
  const names = { exact: "exact", kappa: "kappa", kappa_quadratic: "kappa, quadratic", kappa_binary: "kappa, relevant or not", alpha: "alpha, ordinal", bias: "bias (judge − people)" };
  const rows = Object.entries(names).map(([key, name]) => [name, figure(judge[key])]);
  return table(["Figure", "value [95 %]"], [...rows, ["pairs", `${judge.pairs}, equivalent to ${judge.effective_pairs.toFixed(0)} drawn with equal probability`]], "Agreement");
}

function meaning(judge) {
  const rows = judge.relevant_by_grade.map(({ grade, relevant, pairs, share }) => [`judge ${grade}`, `${relevant} of ${pairs}`, figure(share)]);
  return table(["", "people say 2 or 3", "share [95 %]"], rows, "Share of pairs that people find relevant, by the judge's grade");
}

async function load() { // what has not changed stays as it is, with the focus in it
  try {
    const answer = await request("/api/progress");
    const now = JSON.stringify(answer);
    if (now !== shown) show(answer);
    shown = now;
    alarm("");
  } catch (error) {
    alarm(error.message);
  }
}

load();
setInterval(load, 15000);
