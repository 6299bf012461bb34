"use strict";
// What every page shares: elements, the way to ask and to send, keys. Texts become text nodes, never HTML.

const $ = (id) => document.getElementById(id);

function make(tag, more = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(more)) {
    if (key === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => ![null, undefined, false, ""].includes(child)));
  return node;
}

const button = (text, act, more = {}) => make("button", { type: "button", on: { click: act }, ...more }, text);
const amount = (count, singular, plural = `${singular}s`) => `${count.toLocaleString("en")} ${count === 1 ? singular : plural}`;
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

function alarm(text) {
  if ($("alarm").textContent !== text) $("alarm").textContent = text;
  $("alarm").hidden = !text;
}

// --- asking and sending --------------------------------------------------------------------------------------------

const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
let person = null; // whose page this is: the server refuses a browser that somebody else's link was opened in

async function request(path, body) { // sends a decision if there is a body; an error has the server's words and its status
  const headers = person === null ? {} : { "Goldbench-Person": encodeURIComponent(person) };
  let answer, content;
  try {
    if (body) headers["Content-Type"] = "application/json";
    answer = await fetch(path, body ? { method: "POST", headers, body: JSON.stringify({ client_id: newId(), ...body }) } : { headers });
    content = await answer.json();
  } catch {
    throw new Error("The server does not answer.");
  }
  if (!answer.ok) throw Object.assign(new Error(content.error ? sentence(content.error) : ""), { status: answer.status });
  return content;
}

// --- keys: digits of every script are digits, and a letter of another script is the Latin one at its place ---------

function keyOf(event) {
  const [, place = ""] = /^(?:Digit|Numpad|Key)([0-9A-Z])$/.exec(event.code) || [];
  if (event.key === "؟") return "?";
  if (!place || /^[ -~]/.test(event.key)) return event.key;
  if (/\d/.test(place)) return /^\p{Nd}$/u.test(event.key) ? place : event.key;
  if (!/^\p{L}/u.test(event.key) || /^\p{Script=Latin}/u.test(event.key)) return event.key;
  return event.shiftKey ? place : place.toLowerCase();
}
