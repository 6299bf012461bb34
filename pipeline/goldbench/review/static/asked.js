"use strict";
// What stands beside the texts to judge: the conversation before a query, its form before typing errors, a hint; a passage's place.
// Texts become text nodes, never HTML.

function paintAsked(one) {
  const turns = one ? one.turns : [];
  const rows = turns.map(({ who, says }) => {
    const row = document.createElement("li");
    const name = document.createElement("b");
    const words = document.createElement("span");
    row.className = who.toLowerCase();
    name.textContent = `${who}:`;
    words.textContent = says;
    row.dir = words.dir = "auto";
    row.append(name, " ", words);
    return row;
  });
  document.getElementById("turns").replaceChildren(...rows);
  document.getElementById("talk").hidden = !rows.length;
  const said = [];
  const path = one ? [...new Set([one.title, ...one.headings])].filter(Boolean) : [];
  document.getElementById("path").replaceChildren(...path.flatMap((text, i) => [...(i ? [" › "] : []), Object.assign(document.createElement("bdi"), { textContent: text })]));
  if (one && one.meant) said.push(`Meant, without its typing errors: ${one.meant}`);
  if (one && one.hint) said.push(one.hint);
  document.getElementById("hint").replaceChildren(...said.map((text) => Object.assign(document.createElement("span"), { textContent: text, dir: "auto" })));
  document.getElementById("hint").hidden = !said.length;
}
