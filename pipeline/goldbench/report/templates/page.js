"use strict";
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Charts are drawn as soon as the library is unpacked; their colours follow the page.
const unpack = async () => {
  const packed = document.getElementById("plotly").textContent;
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
};
const draw = () => {
  for (const chart of document.querySelectorAll("script.chart")) {
    const { data, layout } = JSON.parse(chart.textContent);
    Plotly.newPlot(chart.dataset.for, data, layout, { displaylogo: false, responsive: true, displayModeBar: false });
  }
  const paint = () => {
    for (const graph of document.querySelectorAll(".plotly-graph-div")) {
      Plotly.relayout(graph, { "font.color": css("--ink") });
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  paint();
  document.body.dataset.drawn = "true";
};
unpack().then(draw, () => {
  const warning = document.createElement("p");
  warning.className = "warning";
  warning.textContent = "This browser cannot draw the charts: it cannot unpack their library. A browser of 2023 or later can.";
  document.querySelector("main").prepend(warning);
});
