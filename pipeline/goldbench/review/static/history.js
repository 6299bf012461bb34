"use strict";
// What a person judged, with a filter that stands in the address.

const FIELDS = ["q", "said", "lane", "since", "until"];
let asked = 0, shown = 0;

function midnight(day, after) { // of the reader's own clock, `after` days later; "" while the year is still being typed
  const date = new Date(`${day}T00:00`);
  date.setDate(date.getDate() + after);
  return date.getFullYear() > 0 && date.getFullYear() < 9999 ? date.toISOString() : "";
}

function filter() {
  const wanted = new URLSearchParams(["q", "said", "lane"].filter((name) => $(name).value).map((name) => [name, $(name).value]));
  if ($("since").value) wanted.set("since", midnight($("since").value, 0));
  if ($("until").value) wanted.set("before", midnight($("until").value, 1));
  return wanted;
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

async function load(more) {
  const mine = (asked += 1);
  const address = new URLSearchParams(FIELDS.filter((name) => $(name).value).map((name) => [name, $(name).value]));
  history.replaceState(null, "", address.size ? `#${address}` : location.pathname);
  try {
    const { items, total } = await request(`/api/history?${filter()}&from=${more ? shown : 0}`);
    if (mine !== asked) return;
    alarm("");
    if (!more) $("acts").replaceChildren();
    $("acts").append(...items.map(row));
    shown = $("acts").children.length;
    $("found").textContent = amount(total, "passage");
    $("more").hidden = shown >= total;
  } catch (error) {
    if (mine === asked) alarm(error.message);
  }
}

const address = new URLSearchParams(location.hash.slice(1));
for (const name of FIELDS) {
  $(name).value = address.get(name) ?? "";
  $(name).addEventListener("input", () => load(false));
}
$("filter").addEventListener("submit", (event) => event.preventDefault());
$("more").addEventListener("click", () => load(true));
load(false);
