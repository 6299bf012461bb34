"use strict";
// One query: its texts, its passages with judgments, what people decided, and every system's list.

const GRADES = JSON.parse($("grade-names").textContent);
const REASONS = { unclear: "unclear", not_stand_alone: "does not stand alone", unrealistic: "nobody would ask it", too_broad: "too broad", wrong_language: "wrong language" };
const FLAGS = { instructions_in_text: "the passage holds instructions to the judge", unreadable: "the passage is unreadable", ambiguous_query: "the query is ambiguous" };
const LABELS = { kind: "kind", style: "style", language: "language", generator: "written by", overlap: "shared words", noise: "noise", frequency: "times asked", traffic: "searches", persona: "asked as", difficulty: "difficulty" };

function badge(passage, level) {
  if (passage.grade === null || passage.grade === undefined) return make("span", { class: "badge unjudged" }, "unjudged");
  const people = Object.keys(passage.graded_by || {}).length;
  const who = people ? ` by ${amount(people, "person", "people")}` : "";
  return make("span", { class: passage.grade >= level ? "badge relevant" : "badge" }, `grade ${passage.grade}${who}`);
}

function judgments(passage) {
  const rows = Object.entries(passage.graded_by || {}).map(([who, grade]) => make("li", {}, name(who), `: grade ${grade}`));
  for (const one of passage.judges || []) {
    const row = make("li", {}, name(one.assessor), `: grade ${one.grade}`);
    if (one.capped) row.append(", lowered because the quote was missing");
    if (one.shared_from) row.append(", taken over from its near-duplicate ", name(one.shared_from));
    if (FLAGS[one.flag]) row.append(`; ${FLAGS[one.flag]}`);
    if (one.reason) row.append(said(one.reason, "p", { class: "reason" }));
    if (one.quote) row.append(said(one.quote, "blockquote"));
    rows.push(row);
  }
  if (passage.disputed) rows.push(make("li", {}, "People disagree. The lower grade counts until somebody who did not judge the passage settles it."));
  if (!rows.length) rows.push(make("li", {}, "Nobody judged this passage."));
  return make("ul", { class: "judgments" }, ...rows);
}

function judging(page, passage) { // "judge this now"
  if (!source.canAct || page.query.left_out) return null;
  const settles = page.settles && passage.disputed && !(page.annotator in passage.graded_by);
  const title = settles ? "Settle the disagreement" : passage.grade === null || passage.grade === undefined ? "Judge this now" : "Judge again";
  const box = make("details", { class: "judge" }, make("summary", {}, title));
  if (passage.sampled) box.append(make("p", { class: "quiet" }, "This pair is in the random sample of the review. A grade given here is not blind, so the pair leaves the sample."));
  const group = make("div", { class: "row", role: "group", "aria-label": `Grade of ${passage.id}` });
  const note = make("textarea", { rows: 2, maxlength: 4000, dir: "auto" });
  for (const grade of ["3", "2", "1", "0"]) {
    const send = () => page.act({ kind: settles ? "adjudicate" : "judge", passage: passage.id, grade: Number(grade), ...(note.value.trim() ? { note: note.value.trim() } : {}) }, `Grade ${grade} saved.`);
    group.append(button(`${grade} ${GRADES[grade]}`, send, { class: `g${grade}`, "data-grade": grade }));
  }
  if (page.annotator in (passage.graded_by || {})) group.append(button("Undo my grade", () => page.act({ kind: "undo", passage: passage.id }, "Grade taken back.")));
  box.append(make("label", { class: "wide" }, "Note, sent with the grade", note), group);
  return box;
}

function opened(page, passage, forms) { // the text of a passage, and a switch between rendered and raw
  const box = make("div", { class: "opened" });
  if (passage.absent) {
    box.append(make("p", { class: "quiet" }, "This text is not in the file, which would be too large; goldbench open shows it."));
    return box;
  }
  let raw = false, most = PART;
  const show = () => box.querySelector(".passage").replaceWith(passageBox(passage, forms, raw, most));
  box.append(passageBox(passage, forms, raw, most));
  if (passage.html) {
    const toggle = button("Raw text", () => { raw = !raw; toggle.setAttribute("aria-pressed", raw); show(); }, { "aria-pressed": "false", class: "small" });
    box.append(toggle);
  }
  if (passage.text.length > most) {
    const words = () => `More text (${(passage.text.length - most).toLocaleString("en")} characters left)`;
    const more = button(words(), () => { most += PART; show(); more.textContent = words(); more.hidden = most >= passage.text.length; }, { class: "small" });
    box.append(more);
  }
  return box;
}

function heading(passage) {
  const path = [...new Set([passage.document, ...(passage.headings || [])])].filter(Boolean);
  return make("p", { class: "path" }, name(passage.id), ...path.flatMap((part, at) => [at ? " › " : " · ", make("bdi", {}, part)]));
}

function passageCard(page, passage) {
  const card = make("article", { class: "card", "data-id": passage.id, "aria-label": `Passage ${passage.id}` }, make("p", { class: "line" }, badge(passage, page.level)), heading(passage));
  const body = opened(page, passage, []);
  card.append(body);
  if (passage.cut) {
    const more = button("Whole text", async () => {
      const whole = await page.ask(() => source.passage(page.query.id, passage.id));
      if (whole) { body.replaceWith(opened(page, whole, [])); more.remove(); }
    });
    card.append(more);
  }
  if (!page.query.left_out) card.append(make("details", {}, make("summary", {}, "Judgments and their reasons"), judgments(passage)), judging(page, passage) || "");
  return card;
}

function moved(rank, other, second) { // how a passage stands in the other list
  if (!other) return null;
  const at = other.get(rank.id);
  if (at === undefined) return make("span", { class: "moved" }, "not in ", name(second));
  if (at === rank.rank) return make("span", { class: "moved" }, "same rank in ", name(second));
  const steps = Math.abs(at - rank.rank);
  return make("span", { class: "moved" }, `${amount(steps, "rank")} ${at > rank.rank ? "above" : "below"} `, name(second), ` (rank ${at})`);
}

function resultRow(page, result, other, second) {
  const words = Object.keys(result.words || {});
  const forms = Object.values(result.words || {}).flat();
  const line = make("p", { class: "line" }, make("b", {}, `${result.rank}.`), " ", badge(result, page.level), " ", make("span", { class: "number" }, `score ${Number(result.score.toPrecision(6))}`));
  if (result.tied) line.append(" ", make("span", { class: "moved" }, "tied with a neighbour"));
  if (result.copy_of) line.append(" ", make("span", { class: "moved" }, "near-duplicate of ", name(result.copy_of)));
  const change = moved(result, other, second);
  if (change) line.append(" ", change);
  const row = make("li", { "data-id": result.id, class: result.grade !== null && result.grade >= page.level ? "found" : "" }, line, heading(result));
  if (!result.known) {
    row.append(make("p", { class: "quiet" }, "The set does not hold this passage: run and set have different ids here."));
    return row;
  }
  row.append(make("p", { class: "words" }, words.length ? `${amount(words.length, "shared word")}: ` : "No shared word.", ...words.flatMap((word, at) => [at ? ", " : "", make("bdi", {}, word)])));
  const begins = result.begins ? said(`${result.begins}${result.begins.length >= 300 ? " …" : ""}`, "p", { class: "begins" }) : "";
  const whole = make("details", { class: "whole" }, make("summary", {}, "Whole text"));
  whole.addEventListener("toggle", async () => {
    begins.hidden = whole.open;
    if (!whole.open || whole.children.length > 1) return;
    const passage = await page.ask(() => source.passage(page.query.id, result.id));
    if (passage && whole.children.length === 1) whole.append(opened(page, passage, forms)); // once, however often it was unfolded meanwhile
  });
  row.append(begins, whole, make("details", {}, make("summary", {}, "Judgments and their reasons"), judgments(result)), judging(page, result) || "");
  return row;
}

function systemList(page, at, other, second) {
  const one = page.query.systems[at];
  const box = make("section", { class: "system", "aria-label": `Results of ${one.system}` }, make("h4", {}, name(one.system)));
  box.append(make("p", { class: "number" }, page.measures.map((measure, place) => `${measure} ${figure(one.scores[place], 4)}`).join(" · ")));
  for (const cause of one.causes) box.append(make("p", { class: "cause" }, page.meaning(cause)));
  const list = make("ol", { class: "results" }, ...one.results.map((result) => resultRow(page, result, other, second)));
  box.append(list);
  if (!one.found) box.append(make("p", { class: "quiet" }, "This system returned nothing for the query."));
  const rest = () => one.found - list.children.length;
  if (source.canAct && rest() > 0) {
    const more = button("More results", async () => {
      const shown = list.children.length;
      const found = await page.ask(() => source.results(page.query.id, at, shown + 1));
      if (!found || shown !== list.children.length) return; // a second click asked for the same
      list.append(...found.results.map((result) => resultRow(page, result, other, second)));
      more.hidden = rest() <= 0;
    });
    box.append(more);
  }
  if (one.later.length) box.append(make("h5", {}, "Relevant passages further down"), make("ol", { class: "results" }, ...one.later.map((result) => resultRow(page, result, other, second))));
  if (one.missing.length) box.append(make("p", {}, "Relevant, and not in this list: ", ...one.missing.flatMap((id, place) => [place ? ", " : "", name(id)])));
  return box;
}

function comparison(page) {
  const { query } = page;
  if (!query.systems.length) return make("p", { class: "quiet" }, "No system was measured yet. goldbench retrieve or goldbench bench writes runs.");
  const [first, second] = page.chosen();
  const ranks = (at) => new Map([...query.systems[at].results, ...query.systems[at].later].map((one) => [one.id, one.rank]));
  const lists = [systemList(page, first, second === first ? null : ranks(second), query.systems[second].system)];
  if (second !== first) lists.push(systemList(page, second, ranks(first), query.systems[first].system));
  return make("div", { class: "columns" }, ...lists);
}

function scoreTable(page) {
  const rows = page.query.systems.map((one) => make("tr", {}, make("th", { scope: "row" }, name(one.system)), ...one.scores.map((score) => make("td", {}, figure(score, 4))), make("td", { class: "text" }, one.causes.map(page.title).join(", ") || "–")));
  const head = make("tr", {}, ...["system", ...page.measures, "why it fails"].map((title) => make("th", { scope: "col" }, title)));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures of this query" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}

function siblings(query) {
  if (!query.siblings.length) return [];
  const rows = query.siblings.map((one) => make("li", {}, make("a", { href: `#${new URLSearchParams({ query: one.key })}`, dir: "auto" }, one.text), make("p", {}, `Rule: ${one.rule}`), one.reason ? said(one.reason, "p", { class: "quiet" }) : ""));
  return [make("h3", {}, "Rejected queries of the same passages"), make("ul", { class: "siblings" }, ...rows)];
}

function verdict(page) {
  const one = page.query.verdict;
  if (!one) return make("p", { class: "quiet" }, "People decided nothing about this query yet.");
  const why = one.reasons.map((reason) => REASONS[reason]).join(", ");
  const line = make("p", {}, one.verdict === "reported" ? "Sent to review by " : `${one.verdict[0].toUpperCase()}${one.verdict.slice(1)} by `, name(one.who), why ? ` (${why})` : "", ".");
  return one.text ? make("div", {}, line, make("p", {}, "New wording: ", make("bdi", {}, one.text))) : line;
}

function reasonChoice(label) {
  const select = make("select", {}, ...Object.entries(REASONS).map(([value, text]) => make("option", { value }, text)));
  return [select, make("label", {}, label, select)];
}

function actions(page) {
  if (!source.canAct || page.query.left_out) return null;
  const wording = make("textarea", { rows: 2, maxlength: 2000, dir: "auto" }, page.query.verdict?.text || page.query.asks);
  const save = () => wording.value.trim() && page.act({ kind: "edit_query", text: wording.value.trim() }, "New wording saved.");
  const [rejecting, rejectLabel] = reasonChoice("Why ");
  const [reporting, reportLabel] = reasonChoice("Why ");
  const box = make("details", { id: "actions" }, make("summary", {}, "Change this query"));
  box.append(
    make("div", { class: "act" }, make("label", { class: "wide" }, "Wording", wording), button("Save wording", save, { id: "save-wording" })),
    make("div", { class: "act row" }, rejectLabel, button("Reject query", () => page.act({ kind: "reject_query", reason: rejecting.value }, "Query rejected."), { id: "reject" })),
    make("div", { class: "act row" }, reportLabel, button("Send to review", () => page.act({ kind: "bad_query", reason: reporting.value }, "Sent to review."), { id: "send" })),
    make("div", { class: "act row" }, button("Accept query", () => page.act({ kind: "accept_query" }, "Query accepted.")), page.query.verdict ? button("Undo my decision", () => page.act({ kind: "undo" }, "Decision taken back.")) : ""),
    make("p", { class: "quiet" }, "Decisions are kept in the review's ledger. They enter the set with goldbench review apply."),
  );
  return box;
}

function about(query) {
  const told = Object.entries(query.about || {}).map(([key, value]) => [LABELS[key] || key, key === "overlap" ? `${Math.round(value * 100)} %` : typeof value === "number" ? String(Math.round(value * 100) / 100) : String(value)]);
  return told.length ? make("dl", { class: "about" }, ...told.flatMap(([key, value]) => [make("dt", {}, key), said(value, "dd")])) : null;
}

function queryView(page) { // all elements of a query
  const { query } = page;
  const turns = (query.turns || []).map(({ who, says }) => make("li", {}, make("b", {}, `${who}: `), make("span", { dir: "auto" }, says)));
  const parts = [
    turns.length ? make("ol", { class: "turns", "aria-label": "Conversation" }, ...turns) : null,
    said(query.asks, "h2", { id: "asks" }),
    make("p", { class: "quiet" }, "Query ", name(query.id)),
    query.meant ? make("p", {}, "Meant, without its typing errors: ", make("bdi", {}, query.meant)) : null,
    query.hint ? make("p", {}, query.hint) : null,
    about(query),
    query.answer ? make("p", { id: "answer" }, make("b", {}, "Answer: "), make("bdi", {}, query.answer)) : null,
  ];
  if (query.left_out) {
    const why = query.left_out;
    parts.push(make("div", { class: "cause" }, make("p", {}, `Not in the set. Rule: ${why.rule}`), why.reason ? said(why.reason) : ""));
  } else parts.push(verdict(page), actions(page));
  parts.push(make("h3", {}, query.left_out ? "The passage it was written from" : "Its passages"));
  parts.push(...(query.passages.length ? query.passages.map((passage) => passageCard(page, passage)) : [make("p", { class: "quiet" }, "No passage is known.")]));
  const notes = (query.people || []).filter((one) => one.note || one.evidence);
  if (notes.length) parts.push(make("h3", {}, "Notes of people"), make("ul", {}, ...notes.map((one) => make("li", {}, name(one.who), " on ", name(one.passage), one.note ? said(one.note) : "", one.evidence ? said(one.evidence, "blockquote") : ""))));
  parts.push(...siblings(query));
  if (!query.left_out) parts.push(make("h3", {}, "What the systems found"), ...(query.systems.length ? [scoreTable(page), page.picker()] : []), comparison(page));
  return parts.filter(Boolean);
}
