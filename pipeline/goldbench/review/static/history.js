"use strict";
// What a person judged, with a filter that stands in the address. Texts become text nodes, never HTML.

const $ = (id) => document.getElementById(id);
const LANES = { A: "random sample", B: "likely judge errors", C: "queries judged completely" };
const SAID = { judge: "grade ", later: "postponed", cannot: "cannot judge" };
const FIELDS = ["q", "said", "lane", "since", "until"];
let asked = 0, shown = 0;

function make(tag, text, more = {}) {
  const node = Object.assign(document.createElement(tag), more);
  node.textContent = text;
  return node;
}

function midnight(day, after) { // of the reader's own clock, `after` days later; "" while the year is still being typed
  const found = new Date(`${day}T00:00`);
  found.setDate(found.getDate() + after);
  return found.getFullYear() > 0 && found.getFullYear() < 9999 ? found.toISOString() : "";
}

function address() {
  const found = new URLSearchParams();
  for (const name of ["q", "said", "lane"]) if ($(name).value) found.set(name, $(name).value);
  if ($("since").value) found.set("since", midnight($("since").value, 0));
  if ($("until").value) found.set("before", midnight($("until").value, 1));
  return found;
}

function row(item) {
  const entry = document.createElement("li");
  const top = make("p", "", { className: "quiet" });
  const when = new Date(item.at);
  const earlier = item.earlier.length ? `, before: ${item.earlier.join(", ")}` : "";
  top.append(
    make("time", Number.isNaN(when.getTime()) ? item.at : when.toLocaleString(), { dateTime: item.at }),
    ` · ${LANES[item.lane]} · `,
    make("strong", `${SAID[item.said]}${item.said === "judge" ? item.grade : ""}${earlier}`),
  );
  entry.append(make("h2", item.asks, { dir: "auto" }), top, make("p", item.begins, { dir: "auto" }));
  if (item.note) entry.append(make("p", item.note, { dir: "auto", className: "note" }));
  if (item.evidence) entry.append(make("blockquote", item.evidence, { dir: "auto" }));
  entry.append(make("a", "Judge again", { href: `/#pair=${item.pair}`, className: "again" }));
  return entry;
}

async function load(more) {
  const mine = (asked += 1);
  const found = address();
  const kept = new URLSearchParams(FIELDS.filter((name) => $(name).value).map((name) => [name, $(name).value]));
  history.replaceState(null, "", kept.size ? `#${kept}` : location.pathname);
  try {
    const answer = await fetch(`/api/history?${found}&from=${more ? shown : 0}`);
    const body = await answer.json();
    if (mine !== asked) return;
    if (!answer.ok) throw new Error(body.error);
    $("alarm").hidden = true;
    if (!more) $("acts").replaceChildren();
    $("acts").append(...body.items.map(row));
    shown = $("acts").children.length;
    $("found").textContent = `${body.total} ${body.total === 1 ? "passage" : "passages"}`;
    $("more").hidden = shown >= body.total;
  } catch (error) {
    if (mine !== asked) return;
    $("alarm").textContent = error instanceof TypeError ? "The server does not answer." : error.message;
    $("alarm").hidden = false;
  }
}

const kept = new URLSearchParams(location.hash.slice(1));
for (const name of FIELDS) {
  $(name).value = kept.get(name) ?? "";
  $(name).addEventListener("input", () => load(false));
}
$("filter").addEventListener("submit", (event) => event.preventDefault());
$("more").addEventListener("click", () => load(true));
load(false);
