"use strict";
// What a person judged, with a filter that stands in the address.

const FIELDS = ["q", "said", "lane", "since", "until"];
const PAGE = 50; // decisions shown at first, and added at once
let items = [], most = PAGE;

function midnight(day, after) { // of the reader's own clock, `after` days later; null while the year is still being typed
  const date = new Date(`${day}T00:00`);
  date.setDate(date.getDate() + after);
  return date.getFullYear() > 0 && date.getFullYear() < 9999 ? date : null;
}

function passes(item) {
  const since = midnight($("since").value, 0), before = midnight($("until").value, 1), at = new Date(item.at);
  const words = $("q").value.toLowerCase().split(/\s+/).filter(Boolean), asks = item.asks.toLowerCase();
  return ["", item.grade === null ? item.said : String(item.grade)].includes($("said").value)
    && ["", item.lane].includes($("lane").value)
    && (since === null || at >= since) && (before === null || at < before)
    && words.every((word) => asks.includes(word));
}

function row(item) {
  const when = new Date(item.at);
  const earlier = item.earlier.length ? `, before: ${item.earlier.join(", ")}` : "";
  const time = make("time", { datetime: item.at }, Number.isNaN(when.getTime()) ? item.at : when.toLocaleString());
  return make("li", {},
    make("h2", { dir: "auto" }, item.asks),
    make("p", { class: "quiet" }, time, ` · ${LANES[item.lane]} · `, make("strong", {}, decision(item) + earlier)),
    make("p", { dir: "auto" }, item.begins),
    item.note && make("p", { dir: "auto", class: "note" }, item.note),
    item.evidence && make("blockquote", { dir: "auto" }, item.evidence),
    make("a", { href: `/#pair=${item.pair}`, class: "again" }, "Judge again"));
}

function show() {
  const address = new URLSearchParams(FIELDS.filter((name) => $(name).value).map((name) => [name, $(name).value]));
  history.replaceState(null, "", address.size ? `#${address}` : location.pathname);
  const matches = items.filter(passes);
  $("acts").replaceChildren(...matches.slice(0, most).map(row));
  $("found").textContent = amount(matches.length, "passage");
  $("more").hidden = most >= matches.length;
}

async function load() {
  try {
    items = (await request("/api/history")).items;
    show();
  } catch (error) {
    alarm(error.message);
  }
}

const address = new URLSearchParams(location.hash.slice(1));
for (const name of FIELDS) {
  $(name).value = address.get(name) ?? "";
  $(name).addEventListener("input", () => { most = PAGE; show(); });
}
$("filter").addEventListener("submit", (event) => event.preventDefault());
$("more").addEventListener("click", () => { most += PAGE; show(); });
load();
