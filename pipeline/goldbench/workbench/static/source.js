"use strict";
// Where the page's data comes from: the server, or the page itself if it is a file.

const fresh = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

async function fromServer(path, body) {
  let answer;
  try {
    answer = await fetch(path, body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  } catch {
    throw new Error("The server does not answer. Is goldbench open still running?");
  }
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

const served = {
  canAct: true,
  list: () => fromServer("/api/list"),
  query: (id) => fromServer(`/api/query?${new URLSearchParams({ id })}`),
  passage: (query, passage) => fromServer(`/api/passage?${new URLSearchParams({ query, passage })}`),
  results: (query, system, first) => fromServer(`/api/results?${new URLSearchParams({ query, system, first })}`),
  found: async (words) => new Set((await fromServer(`/api/found?${new URLSearchParams({ words })}`)).ids),
  look: () => fromServer("/api/look"),
  act: (body) => fromServer("/api/act", { client_id: fresh(), ...body }),
};

async function unpacked(text) { // base64 of a zlib stream of JSON
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function inThePage(packed) {
  let kept;
  const all = async () => { // the list, then blocks of queries, then blocks of passages, which have no system
    const [list, ...blocks] = await Promise.all(packed.split(" ").map(unpacked));
    const held = { list, queries: {}, passages: {} };
    for (const block of blocks) {
      const first = Object.values(block)[0];
      Object.assign(first && "asks" in first ? held.queries : held.passages, block);
    }
    return held;
  };
  const data = () => (kept ??= all());
  const whole = (held, id, own) => (held.passages[id] ? { ...own, id, ...held.passages[id], cut: false } : { ...own, id, absent: true, text: "", evidence: [] });
  return {
    canAct: false,
    list: async () => (await data()).list,
    query: async (id) => {
      const held = await data();
      const found = held.queries[id];
      if (!found) throw new Error("This query is not in the file.");
      return { ...found, passages: found.passages.map((own) => whole(held, own.id, own)) };
    },
    passage: async (query, id) => {
      const held = await data();
      const own = held.queries[query].passages.find((one) => one.id === id) || { evidence: [], headings: [], document: "" };
      return whole(held, id, own);
    },
    results: async () => ({ results: [], found: 0 }),
    found: async (words) => {
      const held = await data(), parts = words.toLowerCase().split(/\s+/).filter(Boolean);
      const holds = (query) => {
        const text = query.passages.map((own) => held.passages[own.id]?.text || "").join("\n").toLowerCase();
        return parts.every((part) => text.includes(part));
      };
      return new Set(Object.keys(held.queries).filter((id) => !held.queries[id].left_out && holds(held.queries[id])));
    },
  };
}

const packed = $("data");
const source = packed ? inThePage(packed.textContent.trim()) : served;
