"use strict";
// What belongs to a query beside the text to judge: the conversation before it, its form before typing errors, a hint.
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
    row.append(name, " ", words);
    return row;
  });
  document.getElementById("turns").replaceChildren(...rows);
  document.getElementById("talk").hidden = !rows.length;
  const said = [];
  if (one && one.meant) said.push(`Meant, without its typing errors: ${one.meant}`);
  if (one && one.hint) said.push(one.hint);
  document.getElementById("hint").replaceChildren(...said.map((text) => Object.assign(document.createElement("span"), { textContent: text })));
  document.getElementById("hint").hidden = !said.length;
}
