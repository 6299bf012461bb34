"use strict";
const byId = (id) => document.getElementById(id);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const node = (name, attributes, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

// Charts: they are drawn as soon as the library is unpacked. Colours follow the page, and a point with a link leads to
// what it is made of.
const chartSettings = { displaylogo: false, responsive: true, displayModeBar: false };
const library = (async () => {
  const bytes = Uint8Array.from(atob(byId("plotly").textContent), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const script = document.createElement("script");
  script.textContent = await new Response(unpacked).text();
  document.head.append(script);
})();
library.then(() => {
  for (const held of document.querySelectorAll("script.chart")) {
    const { data, layout } = JSON.parse(held.textContent);
    Plotly.newPlot(held.dataset.for, data, layout, chartSettings);
  }
  const paint = () => {
    for (const graph of document.querySelectorAll(".plotly-graph-div")) {
      if (!graph.data) continue;
      Plotly.relayout(graph, { "font.color": css("--ink") });
      Plotly.Plots.resize(graph);
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  for (const graph of document.querySelectorAll(".plotly-graph-div")) {
    if (!graph.data?.some((trace) => typeof trace.customdata?.[0] === "string")) continue;
    graph.classList.add("linked");
    graph.on("plotly_click", (event) => {
      const link = event.points[0].customdata;
      if (typeof link !== "string") return;
      if (link.startsWith("page:./")) location.href = link.slice("page:".length);
      else location.hash = link;
    });
  }
  paint();
  document.body.dataset.drawn = "true";
}, () => document.querySelector("main").prepend(node("p", { class: "warning" }, "This browser cannot draw the charts: it cannot unpack their library. A browser of 2023 or later can.")));
