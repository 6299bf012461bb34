"use strict";
// A passage, rendered or raw, with stretches of it marked, and the stretch of the raw text behind a selection. All places
// are UTF-16 units of the raw text: elements with data-at tell where their text begins there.

const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/gu;

function directionOf(text) { // that of most letters: an Arabic passage may begin with a title in Latin letters
  const letters = text.slice(0, 2000).match(/\p{L}/gu) ?? [];
  const back = letters.join("").match(RIGHT_TO_LEFT)?.length ?? 0;
  return 2 * back === letters.length ? "auto" : 2 * back > letters.length ? "rtl" : "ltr";
}

function placePassage(box, html) { // html comes from the server's sanitiser: a document of its own neither runs nor loads any of it
  box.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
  for (const block of box.querySelectorAll("[dir=auto]")) block.dir = directionOf(block.textContent);
}

function placeRaw(box, text) {
  const whole = document.createElement("span");
  const block = Object.assign(document.createElement("pre"), { className: "plain", dir: directionOf(text) });
  whole.dataset.at = "0";
  whole.textContent = text;
  block.append(document.createElement("code"));
  block.firstChild.append(whole);
  box.replaceChildren(block);
}

function markPassage(box, marks) { // marks are [start, end, kind]; of marks that overlap, the last is seen
  for (const piece of box.querySelectorAll("[data-at]")) {
    const text = piece.textContent, at = Number(piece.dataset.at), whole = "to" in piece.dataset;
    const end = whole ? Number(piece.dataset.to) : at + text.length;
    const within = marks.filter(([from, to]) => from < end && to > at);
    if (!within.length && !piece.firstElementChild) continue; // each change makes a browser look for the block's direction again
    const kinds = new Array(text.length).fill("");
    for (const [from, to, kind] of within)
      kinds.fill(kind, whole ? 0 : Math.max(0, from - at), whole ? text.length : to - at);
    const parts = [];
    for (let i = 0, start = 0; i < text.length; i = start) {
      while (start < text.length && kinds[start] === kinds[i]) start += 1;
      if (!kinds[i]) parts.push(text.slice(i, start));
      else parts.push(Object.assign(document.createElement("mark"), { className: kinds[i], textContent: text.slice(i, start) }));
    }
    piece.replaceChildren(...parts);
  }
}

function selectedPlaces(box, text) { // the stretch of the raw text that is selected, without white space around it, or null
  const chosen = getSelection();
  if (!chosen.rangeCount || chosen.isCollapsed) return null;
  const range = chosen.getRangeAt(0);
  let from = Infinity, to = -1;
  for (const piece of box.querySelectorAll("[data-at]")) {
    if (!range.intersectsNode(piece)) continue;
    const before = document.createRange(), part = document.createRange();
    part.selectNodeContents(piece);
    if (range.compareBoundaryPoints(Range.START_TO_START, part) > 0) part.setStart(range.startContainer, range.startOffset);
    if (range.compareBoundaryPoints(Range.END_TO_END, part) < 0) part.setEnd(range.endContainer, range.endOffset);
    before.selectNodeContents(piece);
    before.setEnd(part.startContainer, part.startOffset);
    const at = Number(piece.dataset.at), skipped = before.toString().length, length = part.toString().length;
    if (!length) continue;
    from = Math.min(from, "to" in piece.dataset ? at : at + skipped);
    to = Math.max(to, "to" in piece.dataset ? Number(piece.dataset.to) : at + skipped + length);
  }
  while (from < to && !text[from].trim()) from += 1;
  while (to > from && !text[to - 1].trim()) to -= 1;
  return from < to ? [from, to] : null;
}
