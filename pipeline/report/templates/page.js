"use strict";
const byId = (id) => document.getElementById(id);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const node = (name, attributes, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

// Charts: colours follow the page, and a point with a link leads to what it is made of.
(() => {
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
})();
