// The list of queries behind the figures. Its state is the part of the address behind #, so a link restores it.
(() => {
  const data = JSON.parse(byId("data").textContent);
  const names = data.systems;
  const several = names.length > 1;
  const initial = {
    measure: data.measures[0], first: 0, second: several ? 1 : 0, which: "all", missed: "", rank: "", cause: "", part: "",
    sort: "hardest", find: "", query: "",
  };
  const state = { ...initial };
  const eps = 1e-6;
  data.queries.forEach((query, place) => { query.place = place; });

  const values = (system, measure = state.measure) => data.values[measure][system];
  const value = (query, system) => values(system)[state.measure === data.measures[0] ? query.row : query.place];
  const shown = (figure) => (figure === null || figure === undefined ? "–" : figure.toFixed(4));
  const rows = () => (state.measure === data.measures[0] ? data.ids.map((_, row) => row) : data.queries.map((one) => one.row));

  // Charts of pairs
  const escaped = (text) => `\u2068${text.replace(/[&<>"]/g, (mark) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[mark])}\u2069`;
  const layout = (x, y) => {
    const axis = { gridcolor: "rgba(128,128,128,0.25)", zerolinecolor: "rgba(128,128,128,0.6)", automargin: true };
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest", bargap: 0,
      font: { family: "system-ui, sans-serif", color: css("--ink") }, margin: { l: 60, r: 20, t: 30, b: 50 },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      xaxis: { ...axis, title: { text: escaped(x) } }, yaxis: { ...axis, title: { text: escaped(y), standoff: 12 } },
    };
  };
  const drawPairs = () => {
    if (!several || !globalThis.Plotly) return; // drawn again when the library is there
    const all = rows();
    const [a, b] = [values(state.first), values(state.second)];
    const known = all.map((_, place) => place).filter((place) => a[place] !== null && b[place] !== null);
    const order = known.map((place) => ({ row: all[place], a: a[place], b: b[place], difference: a[place] - b[place] }));
    order.sort((p, q) => q.difference - p.difference || (data.ids[p.row] < data.ids[q.row] ? -1 : 1));
    const kinds = [...new Set(data.kinds)].sort();
    const bars = kinds.map((kind, number) => {
      const places = order.map((one, place) => [one, place + 1]).filter(([one]) => data.kinds[one.row] === kind);
      return {
        type: "bar", name: escaped(kind || "other"), marker: { color: data.colours[number % data.colours.length], line: { width: 0 } },
        x: places.map(([, place]) => place), y: places.map(([one]) => one.difference),
        customdata: places.map(([one]) => one.row), hovertext: places.map(([one]) => escaped(data.ids[one.row])),
        hovertemplate: "%{hovertext}: %{y:+.4f}<extra></extra>",
      };
    });
    const title = `${names[state.first]} − ${names[state.second]}, ${state.measure}`;
    Plotly.react("deltas", bars, { ...layout("queries, largest difference first", title), showlegend: kinds.length > 1 }, chartSettings);
    const points = {
      type: "scatter", mode: "markers", x: order.map((one) => one.a), y: order.map((one) => one.b), customdata: order.map((one) => one.row),
      hovertext: order.map((one) => escaped(data.ids[one.row])),
      marker: { size: 7, color: data.colours[0], opacity: 0.45 }, hovertemplate: "%{hovertext}: %{x:.4f}, %{y:.4f}<extra></extra>",
    };
    const most = order.reduce((top, one) => Math.max(top, one.a, one.b), 1);
    const even = { type: "scatter", mode: "lines", x: [0, most], y: [0, most], line: { color: "#7a838c", dash: "dot" }, hoverinfo: "skip" };
    Plotly.react("scatter", [even, points], { ...layout(names[state.first], names[state.second]), showlegend: false }, chartSettings);
    const better = order.filter((one) => one.difference >= data.least).length, worse = order.filter((one) => one.difference <= -data.least).length;
    byId("delta-words").replaceChildren(
      node("bdi", {}, names[state.first]), ` better on ${better}, tied on ${order.length - better - worse}, worse on ${worse} of ${order.length} queries`);
    for (const id of ["deltas", "scatter"]) {
      byId(id).removeAllListeners("plotly_click");
      byId(id).on("plotly_click", (event) => {
        const row = event.points[0].customdata;
        if (Number.isInteger(row)) go({ ...kept(), query: data.ids[row] });
      });
    }
  };

  // Filters
  const results = (query) => query.found.flat();
  const difference = (query) => value(query, state.first) - value(query, state.second);
  const relevant = ([, grade]) => grade !== null && grade >= data.level;
  const tests = {
    all: () => true,
    "both-fail": (query) => names.every((_, system) => value(query, system) < eps),
    "first-fails": (query) => value(query, state.first) < eps && value(query, state.second) > eps,
    "second-fails": (query) => value(query, state.second) < eps && value(query, state.first) > eps,
    "first-wins": (query) => difference(query) >= data.least,
    tie: (query) => Math.abs(difference(query)) < data.least,
    "second-wins": (query) => difference(query) <= -data.least,
    "too-easy": (query) => names.every((_, system) => value(query, system) > 1 - eps),
    unreachable: (query) => !results(query).some(relevant),
    unjudged: (query) => results(query).filter(([, grade]) => grade === null).length * 2 > results(query).length,
    holes: (query) => query.found[state.first].some(([, grade]) => grade === null),
  };
  const buckets = Object.fromEntries(data.buckets.map(([name, low, high]) => [name, [low, high]]));
  const inBucket = (rank, [low, high]) => (rank === null || low === null ? rank === null && low === null : low <= rank && rank <= high);
  const partOf = (query, trait) => {
    const [labels, numbers] = data.parts[trait];
    return labels[numbers[query.row]] ?? null;
  };
  const chosenPart = () => {
    const place = state.part.indexOf(":");
    return place < 0 ? null : [state.part.slice(0, place), state.part.slice(place + 1)];
  };
  const narrowed = {
    missed: (query) => query.ranks[state.first] === null || query.ranks[state.first] > Number(state.missed),
    rank: (query) => buckets[state.rank] !== undefined && inBucket(query.ranks[state.first], buckets[state.rank]),
    cause: (query) => query.causes[state.first].includes(state.cause),
    part: (query) => {
      const [trait, part] = chosenPart() ?? [];
      return trait in data.parts && partOf(query, trait) === part;
    },
    query: (query) => query.id === state.query,
  };
  const orders = {
    hardest: () => 0,
    first: (p, q) => value(p, state.first) - value(q, state.first),
    wins: (p, q) => difference(q) - difference(p),
    losses: (p, q) => difference(p) - difference(q),
    id: (p, q) => (p.id < q.id ? -1 : 1),
  };
  const matching = () => {
    const words = state.find.toLowerCase().split(/\s+/).filter(Boolean);
    const asked = Object.keys(narrowed).filter((key) => state[key] !== "");
    const found = data.queries.filter((query) => {
      const text = `${query.id} ${query.text} ${data.kinds[query.row]}`.toLowerCase();
      return tests[state.which](query) && asked.every((key) => narrowed[key](query)) && words.every((word) => text.includes(word));
    });
    return found.sort(orders[state.sort]);
  };

  // What is narrowed down to, each with a button that takes it back
  const bdi = (text) => node("bdi", {}, text);
  const told = {
    missed: () => [bdi(names[state.first]), `: nothing relevant in the top ${state.missed}`],
    rank: () => [bdi(names[state.first]), state.rank === "not found" ? ": nothing relevant found" : `: first relevant passage at rank ${state.rank}`],
    cause: () => [bdi(names[state.first]), `: ${(data.causes.find(([name]) => name === state.cause) ?? [])[1] ?? state.cause}`],
    part: () => [bdi((chosenPart() ?? [state.part])[0]), ": ", bdi((chosenPart() ?? ["", ""])[1])],
    query: () => ["query ", bdi(state.query)],
  };
  const chips = () => {
    const made = Object.keys(told).filter((key) => state[key] !== "").map((key) => {
      const button = node("button", { type: "button", class: "chip", "data-key": key }, ...told[key](), " ✕");
      button.setAttribute("aria-label", `${button.textContent.replace(" ✕", "")}: remove this filter`);
      button.addEventListener("click", () => { state[key] = ""; show(); });
      return button;
    });
    byId("chips").replaceChildren(...made);
    byId("reset").hidden = !Object.keys(initial).some((key) => key !== "query" ? state[key] !== initial[key] : state.query !== "");
  };

  // One query
  const badge = (grade) =>
    grade === null ? node("span", { class: "badge unjudged" }, "unjudged")
      : node("span", { class: grade >= data.level ? "badge relevant" : "badge" }, `grade ${grade}`);
  const spaceless = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
  const pattern = (forms) => {
    const parts = forms.flat().sort((p, q) => q.length - p.length).map((form) => {
      const plain = form.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
      return spaceless.test(form) ? plain : `(?<![\\p{L}\\p{M}\\p{N}])${plain}(?![\\p{L}\\p{M}\\p{N}])`;
    });
    return parts.length ? new RegExp(parts.join("|"), "giu") : null;
  };
  const textOf = (id) => {
    const found = data.passages[id];
    if (found === undefined) return { text: null, length: 0, html: "" };
    return Array.isArray(found) ? { text: found[0], length: found[1], html: found[2] } : { text: found, length: [...found].length, html: "" };
  };
  const matched = (text, forms) => {
    const low = text.toLowerCase();
    return forms.filter((some) => some.length && pattern([some]).test(low)).map(([form]) => form);
  };
  const marksOf = (text, quote, words) => {
    const marks = words ? [...text.matchAll(words)].map((found) => [found.index, found.index + found[0].length, "word"]) : [];
    const place = quote ? text.indexOf(quote) : -1;
    return place < 0 ? marks : [...marks, [place, place + quote.length, "evidence"]];
  };
  const command = (id) => {
    const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);
    return `goldbench open ${quoted(data.home)} --query ${quoted(id)}`;
  };
  const inWorkbench = (text, query, more) => { // a link to where it is judged, which goldbench open serves on this machine
    const state = new URLSearchParams({ set: data.set, query: query.id, ...more });
    return node("a", { href: `${data.workbench}#${state}`, target: "_blank", rel: "noopener noreferrer" }, text);
  };
  const judged = (id, grade, query, more = {}) =>
    data.home ? node("div", {}, inWorkbench(grade === null ? "judge this" : "judge again", query, { ...more, passage: id })) : "";
  const toggle = (button, pressed, change) => {
    button.setAttribute("aria-pressed", String(pressed));
    button.addEventListener("click", () => {
      const now = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(now));
      change(now);
    });
    return button;
  };
  const passage = (id, query, words) => {
    const { text, length, html } = textOf(id);
    if (text === null) return node("div", { class: "dim" }, data.lacking ? "The text is left out of this page, which would be too large." : "no text of this passage is known");
    const body = node("div", { class: "passage clipped" });
    const marks = marksOf(text, query.quote, words);
    const showEvidence = () => { // a clipped passage shows its evidence first
      const first = body.classList.contains("clipped") && body.querySelector("mark.evidence");
      if (first) body.scrollTop += first.getBoundingClientRect().top - body.getBoundingClientRect().top;
    };
    const place = (raw) => {
      if (raw || !html) placeRaw(body, text);
      else placePassage(body, html);
      markPassage(body, marks);
      requestAnimationFrame(showEvidence);
    };
    place(false);
    const box = node("div", {}, body);
    const characters = [...text].length;
    const cut = characters < length;
    if (text.length > 120 || text.includes("\n") || html) {
      const note = cut ? node("p", { class: "dim", hidden: "" }, `The first ${characters.toLocaleString("en")} of ${length.toLocaleString("en")} characters.`,
        ...(data.home ? [" The rest: ", node("code", {}, command(query.id))] : [])) : "";
      const whole = toggle(node("button", { type: "button", class: "plain" }, cut ? "more text" : "whole text"), false, (now) => {
        body.classList.toggle("clipped", !now);
        showEvidence();
        if (note) note.hidden = !now;
      });
      if (!cut) whole.dataset.fits = "";
      box.append(whole);
      if (html) box.append(" ", toggle(node("button", { type: "button", class: "plain" }, "raw"), false, place));
      box.append(note);
    }
    return box;
  };
  const why = (id, grade, query) => {
    if (grade === null) {
      const reason = !data.has_pool ? "nobody judged it" : query.pooled.includes(id) ? "in the pool, but nobody judged it yet" : "not in the pool, so nobody was asked";
      return [node("div", { class: "why" }, `Unjudged: ${reason}; it counts as not relevant.`)];
    }
    return (query.reasons[id] ?? []).map(([given, assessor, text]) =>
      node("div", { class: "why" }, `Grade ${given}${assessor ? " by " : ""}`, bdi(assessor), text ? ": " : "", node("bdi", { dir: "auto" }, text)));
  };
  const rankIn = (query, system, id) => {
    const place = query.found[system].findIndex(([one]) => one === id);
    return place < 0 ? null : place + 1;
  };
  const moved = (query, system, id, rank) => {
    if (!several || (system !== state.first && system !== state.second)) return "";
    const other = system === state.first ? state.second : state.first;
    if (other === system) return "";
    const there = rankIn(query, other, id);
    const change = there === null ? "not among the shown results of " : there === rank ? "same rank in " : `rank ${there} in `;
    return node("span", { class: "moved" }, change, bdi(names[other]));
  };
  const wordsIn = (id, query) => {
    const known = query.words.length;
    const { text } = textOf(id);
    if (!known || text === null) return "";
    const found = matched(text, query.words);
    const line = node("div", { class: "why" }, `${found.length} of ${known} words of the query`, found.length ? ": " : "");
    found.forEach((word, place) => line.append(place ? ", " : "", bdi(word)));
    return line;
  };
  const fill = (details, query) => {
    const words = pattern(query.words);
    if (data.home) details.append(node("p", { class: "dim" }, inWorkbench("Open, edit or judge this query", query, {}), " while this runs: ", node("code", { class: "command" }, command(query.id))));
    if (query.text) details.append(node("p", { class: "asked", dir: "auto" }, query.text));
    const failed = names.map((name, system) => [name, query.causes[system]]).filter(([, causes]) => causes.length);
    if (failed.length) {
      details.append(node("h3", {}, `Nothing relevant in the top ${data.k}`), node("ul", {}, ...failed.map(([name, causes]) => {
        const meanings = causes.map((cause) => (data.causes.find(([one]) => one === cause) ?? [])[2] ?? cause);
        return node("li", {}, bdi(name), `: ${meanings.join("; ")}`);
      })));
    }
    const expected = node("div", {}, node("h3", {}, "Relevant"));
    for (const [id, grade] of query.relevant) {
      const places = names.map((name, system) => [name, rankIn(query, system, id)]);
      const line = node("div", { class: "result" }, badge(grade), " ", bdi(id), " ");
      const where = node("span", { class: "moved" });
      places.forEach(([name, rank], number) => where.append(number ? ", " : "", bdi(name), rank === null ? `: not in the top ${query.found[number].length}` : `: rank ${rank}`));
      line.append(where, passage(id, query, words), ...why(id, grade, query), judged(id, grade, query));
      expected.append(line);
    }
    if (query.more) expected.append(node("p", { class: "dim" }, `and ${query.more} more relevant passages`));
    const columns = node("div", { class: "columns" });
    names.forEach((name, system) => {
      const list = node("ol", {});
      query.found[system].forEach(([id, grade, score], place) => {
        const item = node("li", { class: "result" }, badge(grade), " ", bdi(id), " ", node("span", { class: "moved" }, `score ${score}`), " ", moved(query, system, id, place + 1));
        item.append(passage(id, query, words), wordsIn(id, query), ...why(id, grade, query), judged(id, grade, query, { first: name }));
        list.append(item);
      });
      const rank = query.ranks[system];
      const first = rank === null ? "nothing relevant found" : `first relevant at rank ${rank}`;
      columns.append(node("div", {}, node("h3", {}, bdi(name), `: ${shown(value(query, system))}`), node("p", { class: "dim" }, first), query.found[system].length ? list : "nothing retrieved"));
    });
    details.append(expected, columns);
  };
  const tidy = (details) => { // a passage that fits needs no button
    for (const button of details.querySelectorAll("button[data-fits]")) {
      const body = button.parentElement.firstElementChild;
      if (body.scrollHeight <= body.clientHeight + 2) button.remove();
    }
  };
  const entry = (query) => {
    const summary = node("summary", {}, node("bdi", { dir: "auto" }, query.text.slice(0, 300) || query.id), " ");
    const figures = node("span", { class: "figures" });
    if (query.text) figures.append(bdi(query.id), "  ");
    names.forEach((name, system) => figures.append(bdi(name), ` ${value(query, system)?.toFixed(2) ?? "–"}  `));
    summary.append(figures);
    const details = node("details", { "data-row": query.row }, summary);
    details.addEventListener("toggle", () => { if (details.open && details.children.length === 1) { fill(details, query); tidy(details); } });
    return details;
  };

  // The list
  const step = 50;
  let found = [];
  const more = () => {
    const count = byId("list").children.length;
    byId("list").append(...found.slice(count, count + step).map(entry));
    byId("more").hidden = count + step >= found.length;
  };
  const list = () => {
    found = matching();
    byId("list").replaceChildren();
    byId("count").textContent = `${found.length.toLocaleString("en")} of ${data.queries.length.toLocaleString("en")}`;
    more();
    if (!found.length) byId("list").append(node("p", { class: "dim" }, state.query && !data.queries.some((one) => one.id === state.query) ? "This query is not on the page." : "No query fits."));
    if (state.query && found.length === 1) byId("list").firstElementChild.open = true;
  };

  // The state in the address
  const fields = Object.fromEntries(["measure", "first", "second", "which", "cause", "sort", "find"].map((key) => [key, byId(key)]));
  const kept = () => ({ measure: state.measure, first: state.first, second: state.second });
  const hash = (wanted) => new URLSearchParams(Object.entries(wanted).filter(([key, one]) => String(one) !== String(initial[key])));
  const go = (wanted) => {
    const address = `#${hash(wanted)}`;
    if (address === location.hash) follow();
    else location.hash = address;
  };
  let drawn = "";
  const show = () => {
    for (const [key, field] of Object.entries(fields)) if (field) field.value = state[key];
    history.replaceState(null, "", `#${hash(state)}`);
    const pair = `${state.measure} ${state.first} ${state.second}`;
    if (pair !== drawn) drawPairs();
    drawn = pair;
    chips();
    list();
  };
  const restore = () => {
    const known = new URLSearchParams(location.hash.slice(1));
    Object.assign(state, initial);
    for (const key of ["first", "second"]) {
      const number = Number(known.get(key) ?? state[key]);
      if (Number.isInteger(number) && number >= 0 && number < names.length) state[key] = number;
    }
    if (several && state.first === state.second) state.second = state.first === 0 ? 1 : 0;
    if (data.measures.includes(known.get("measure"))) state.measure = known.get("measure");
    if (Object.hasOwn(tests, known.get("which") ?? "")) state.which = known.get("which");
    if (Object.hasOwn(orders, known.get("sort") ?? "")) state.sort = known.get("sort");
    for (const key of ["missed", "rank", "cause", "part", "find", "query"]) state[key] = known.get(key) ?? "";
  };
  const isState = () => [...new URLSearchParams(location.hash.slice(1)).keys()].some((key) => Object.hasOwn(initial, key));
  const follow = () => {
    restore();
    show();
    byId("browser").scrollIntoView();
    byId("browser").focus({ preventScroll: true });
  };
  for (const [key, field] of Object.entries(fields)) {
    if (field) field.addEventListener("input", () => {
      state[key] = key === "first" || key === "second" ? Number(field.value) : field.value;
      show();
    });
  }
  byId("reset").addEventListener("click", () => { Object.assign(state, initial); show(); });
  byId("more").addEventListener("click", more);
  addEventListener("hashchange", () => { if (isState()) follow(); });
  document.addEventListener("click", (event) => { // the same link a second time changes no address
    const link = event.target.closest?.("a[href^='#']");
    if (link && isState() && new URL(link.href).hash === location.hash) follow();
  });
  const linked = isState();
  restore();
  show();
  library.then(drawPairs, () => {}); // page.js tells if there is none
  if (linked) byId("browser").scrollIntoView();
})();
