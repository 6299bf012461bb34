"use strict";
// Texts of documents and people: text nodes with a direction of their own, never HTML.

const said = (text, tag = "p", more = {}) => make(tag, { dir: directionOf(text), ...more }, text); // a text of its own
const name = (text) => make("bdi", {}, text); // a name or an id within a sentence
const figure = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const SPACELESS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

function wordSpans(text, forms) { // where forms of words stand in a text: whole words, or any place in scripts without spaces
  const parts = [...new Set(forms)].sort((a, b) => b.length - a.length)
    .map((form) => (SPACELESS.test(form) ? escaped(form) : `(?<![\\p{L}\\p{M}\\p{N}])${escaped(form)}(?![\\p{L}\\p{M}\\p{N}])`));
  if (!parts.length) return [];
  return [...text.matchAll(new RegExp(parts.join("|"), "giu"))].map((found) => [found.index, found.index + found[0].length, "word"]);
}

const PART = 60_000; // characters of a text that are shown at once: a browser lays out a longer line for seconds

function beginning(text, most) { // without half a character at its end
  return text.slice(0, /[\uD800-\uDBFF]/.test(text[most - 1] ?? "") ? most - 1 : most);
}

function passageBox(passage, forms, raw, most = PART) { // the text, rendered or as it is, with evidence and words marked
  const box = make("div", { class: "passage", tabindex: "0", role: "group", "aria-label": `Passage ${passage.id}` });
  const text = beginning(passage.text, most);
  if (passage.html && !raw && text.length === passage.text.length) placePassage(box, passage.html);
  else placeRaw(box, text);
  const evidence = passage.evidence.map(([start, end]) => [start, end, "evidence"]);
  markPassage(box, [...wordSpans(text, forms), ...evidence]);
  return box;
}
