"use strict";
// Keys on any keyboard: digits of every script are digits, and a letter of another script is the Latin one at its place.

function keyOf(event) {
  const [, place = ""] = /^(?:Digit|Numpad|Key)([0-9A-Z])$/.exec(event.code) || [];
  if (event.key === "؟") return "?";
  if (!place || /^[ -~]/.test(event.key)) return event.key;
  if (/\d/.test(place)) return /^\p{Nd}$/u.test(event.key) ? place : event.key;
  if (!/^\p{L}/u.test(event.key) || /^\p{Script=Latin}/u.test(event.key)) return event.key;
  return event.shiftKey ? place : place.toLowerCase();
}
