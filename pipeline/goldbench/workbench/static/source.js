"use strict";
// Where the page's data comes from: the server, or the page itself if it is a file.

const served = {
  canAct: true,
  list: () => request("/api/list"),
  query: (id) => request(`/api/query?${new URLSearchParams({ id })}`),
  passage: (query, passage) => request(`/api/passage?${new URLSearchParams({ query, passage })}`),
  results: (query, system, first) => request(`/api/results?${new URLSearchParams({ query, system, first })}`),
  found: async (words) => new Set((await request(`/api/matches?${new URLSearchParams({ words })}`)).ids),
  look: () => request("/api/look"),
  act: (body) => request("/api/event", body),
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
