(() => {
  "use strict";
  const byId = (id) => document.getElementById(id);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const escaped = (text) => text.replace(/[&<>"]/g, (mark) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[mark]);
  const node = (name, attributes, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };

  const paint = () => {
    for (const graph of document.querySelectorAll(".plotly-graph-div")) {
      if (!graph.data) continue;
      Plotly.relayout(graph, { "font.color": css("--ink") });
      Plotly.Plots.resize(graph);
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);

  const source = byId("data");
  if (!source) return paint();
  const data = JSON.parse(source.textContent);
  const names = data.systems;
  const several = names.length > 1;
  const state = { first: 0, second: several ? 1 : 0, which: "all", find: "" };
  const eps = 1e-6;

  const layout = (x, y) => {
    const axis = { gridcolor: "rgba(128,128,128,0.25)", zerolinecolor: "rgba(128,128,128,0.6)", automargin: true };
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest", bargap: 0,
      font: { family: "system-ui, sans-serif", color: css("--ink") }, margin: { l: 60, r: 20, t: 30, b: 50 },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      xaxis: { ...axis, title: { text: escaped(x) } }, yaxis: { ...axis, title: { text: escaped(y) } },
    };
  };
  const config = { displaylogo: false, responsive: true, displayModeBar: false };

  const drawPairs = () => {
    if (!several) return;
    const [a, b] = [data.values[names[state.first]], data.values[names[state.second]]];
    const difference = a.map((value, row) => value - b[row]);
    const order = [...difference.keys()].sort((p, q) => difference[q] - difference[p] || (data.ids[p] < data.ids[q] ? -1 : 1));
    const kinds = [...new Set(data.kinds)].sort();
    const bars = kinds.map((kind, number) => {
      const places = order.map((row, place) => [row, place + 1]).filter(([row]) => data.kinds[row] === kind);
      return {
        type: "bar", name: escaped(kind || "other"), marker: { color: data.colours[number % data.colours.length], line: { width: 0 } },
        x: places.map(([, place]) => place), y: places.map(([row]) => difference[row]),
        customdata: places.map(([row]) => row), hovertext: places.map(([row]) => escaped(data.ids[row])),
        hovertemplate: "%{hovertext}: %{y:+.4f}<extra></extra>",
      };
    });
    const title = `${names[state.first]} − ${names[state.second]}`;
    Plotly.react("deltas", bars, { ...layout("queries, largest difference first", title), showlegend: kinds.length > 1 }, config);
    const points = {
      type: "scatter", mode: "markers", x: a, y: b, customdata: [...a.keys()], hovertext: data.ids.map(escaped),
      marker: { size: 7, color: data.colours[0], opacity: 0.45 }, hovertemplate: "%{hovertext}: %{x:.4f}, %{y:.4f}<extra></extra>",
    };
    const most = Math.max(1, ...a, ...b);
    const even = { type: "scatter", mode: "lines", x: [0, most], y: [0, most], line: { color: "#7a838c", dash: "dot" }, hoverinfo: "skip" };
    Plotly.react("scatter", [even, points], { ...layout(names[state.first], names[state.second]), showlegend: false }, config);
    const better = difference.filter((value) => value > eps).length, worse = difference.filter((value) => value < -eps).length;
    byId("delta-words").textContent = `${better} ${better === 1 ? "query" : "queries"} better, ${worse} worse, ${difference.length - better - worse} equal`;
    for (const id of ["deltas", "scatter"]) {
      byId(id).removeAllListeners("plotly_click");
      byId(id).on("plotly_click", (event) => open(event.points[0].customdata));
    }
  };

  const value = (query, system) => data.values[names[system]][query.row];
  const results = (query) => query.found.flat();
  const tests = {
    all: () => true,
    "both-fail": (query) => names.every((_, system) => value(query, system) < eps),
    "first-fails": (query) => value(query, state.first) < eps && value(query, state.second) > eps,
    "second-fails": (query) => value(query, state.second) < eps && value(query, state.first) > eps,
    "too-easy": (query) => names.every((_, system) => value(query, system) > 1 - eps),
    unreachable: (query) => !results(query).some(([, grade]) => grade !== null && grade >= data.level),
    unjudged: (query) => results(query).filter(([, grade]) => grade === null).length * 2 > results(query).length,
  };
  const matching = () => {
    const words = state.find.toLowerCase().split(/\s+/).filter(Boolean);
    return data.queries.filter((query) => {
      const text = `${query.id} ${query.text} ${data.kinds[query.row]}`.toLowerCase();
      return (tests[state.which] || tests.all)(query) && words.every((word) => text.includes(word));
    });
  };

  const badge = (grade) =>
    grade === null ? node("span", { class: "badge unjudged" }, "unjudged")
      : node("span", { class: grade >= data.level ? "badge relevant" : "badge" }, `grade ${grade}`);
  const passage = (id, quote) => {
    const text = data.passages[id] || "";
    const place = quote ? text.indexOf(quote) : -1;
    const body = node("div", { class: "passage" });
    if (place < 0) body.append(text);
    else body.append(text.slice(0, place), node("mark", {}, quote), text.slice(place + quote.length));
    return body;
  };
  const fill = (details, query) => {
    const expected = node("div", {}, node("h3", {}, "Relevant"));
    for (const [id, grade] of query.relevant) expected.append(node("div", {}, badge(grade), ` ${id}`, passage(id, query.quote)));
    const columns = node("div", { class: "columns" });
    names.forEach((name, system) => {
      const list = node("ol", {});
      for (const [id, grade] of query.found[system]) {
        const whole = (data.passages[id] || "").replace(/\s+/g, " ").trim();
        const short = whole.length > 160 ? whole.slice(0, 160) + "…" : whole;
        list.append(node("li", {}, badge(grade), ` ${id}`, node("div", { class: "passage dim" }, short)));
      }
      columns.append(node("div", {}, node("h3", {}, `${name}: ${value(query, system).toFixed(4)}`), query.found[system].length ? list : "nothing retrieved"));
    });
    details.append(expected, columns);
  };
  const entry = (query) => {
    const figures = names.map((name, system) => `${name} ${value(query, system).toFixed(2)}`).join("  ");
    const summary = node("summary", {}, query.text || query.id, " ", node("span", { class: "figures" }, `${query.text ? query.id + "  " : ""}${figures}`));
    const details = node("details", { "data-row": query.row }, summary);
    details.addEventListener("toggle", () => { if (details.open && details.children.length === 1) fill(details, query); });
    return details;
  };

  const step = 50;
  let found = [];
  const more = () => {
    const shown = byId("list").children.length;
    byId("list").append(...found.slice(shown, shown + step).map(entry));
    byId("more").hidden = shown + step >= found.length;
  };
  const list = () => {
    found = matching();
    byId("list").replaceChildren();
    byId("count").textContent = `${found.length} of ${data.queries.length}`;
    more();
  };
  const open = (row) => {
    Object.assign(state, { which: "all", find: data.ids[row] });
    show();
    const details = byId("list").querySelector(`[data-row="${row}"]`);
    if (details) details.open = true;
    byId("browser").scrollIntoView();
  };

  const fields = { first: byId("first"), second: byId("second"), which: byId("which"), find: byId("find") };
  let drawnPair = "";
  const show = () => {
    for (const [key, field] of Object.entries(fields)) if (field) field.value = state[key];
    history.replaceState(null, "", "#" + new URLSearchParams(state));
    const pair = `${state.first} ${state.second}`;
    if (pair !== drawnPair) drawPairs();
    drawnPair = pair;
    list();
  };
  const restore = () => {
    const known = new URLSearchParams(location.hash.slice(1));
    for (const key of ["first", "second"]) {
      const number = Number(known.get(key) ?? state[key]);
      if (Number.isInteger(number) && number >= 0 && number < names.length) state[key] = number;
    }
    if (tests[known.get("which")]) state.which = known.get("which");
    state.find = known.get("find") ?? state.find;
  };
  for (const [key, field] of Object.entries(fields)) {
    if (field) field.addEventListener("input", () => {
      state[key] = key === "first" || key === "second" ? Number(field.value) : field.value;
      show();
    });
  }
  byId("more").addEventListener("click", more);
  addEventListener("hashchange", () => { restore(); show(); });
  restore();
  show();
  paint();
})();
