"use strict";
// What stands beside the texts to judge: the conversation before a query, its form before typing errors, a hint, a passage's place.

const LANES = { A: "random sample", B: "likely judge errors", C: "queries judged completely" };
const SAID = { judge: "grade ", later: "postponed", cannot: "cannot judge" };
const TOO_SOON_MS = 40; // a key pressed sooner after a passage appears is the second half of a double press
const nameOf = (grade) => document.querySelector(`[data-grade="${grade}"] strong`).textContent;
const decision = ({ said, grade }) => (said ? `${SAID[said]}${said === "judge" ? grade : ""}` : "open");

function paintAsked(item) {
  const turns = (item?.turns ?? []).map(({ who, says }) => make("li", { class: who.toLowerCase(), dir: "auto" }, make("b", {}, `${who}:`), " ", make("span", { dir: "auto" }, says)));
  $("turns").replaceChildren(...turns);
  $("talk").hidden = !turns.length;
  const path = item ? [...new Set([item.title, ...item.headings])].filter(Boolean) : [];
  $("path").replaceChildren(...path.flatMap((text, i) => [...(i ? [" › "] : []), make("bdi", {}, text)]));
  const hints = [item?.meant && `Meant, without its typing errors: ${item.meant}`, item?.hint].filter(Boolean);
  $("hint").replaceChildren(...hints.map((text) => make("span", { dir: "auto" }, text)));
  $("hint").hidden = !hints.length;
}
