// The inspector: every envelope with its acknowledgement and every Web API call, newest first. For whoever builds the app.

import { clock, el, replace } from "./dom.js";
import { state } from "./store.js";

const open = new Set();
let shown = false;

export function drawInspector(node) {
  const rows = merged();
  const waiting = state.envelopes.filter((one) => one.state === "waiting").length;
  const bad = state.envelopes.filter((one) => ["timeout", "undelivered", "late"].includes(one.state)).length;
  const head = el("button", { type: "button", class: "inspector-head", "aria-expanded": String(shown), onclick: () => { shown = !shown; drawInspector(node); } },
    el("b", {}, "Inspector"), el("span", { class: "muted" }, `${state.envelopes.length} ${state.envelopes.length === 1 ? "envelope" : "envelopes"} · ${state.calls.length} calls`),
    waiting > 0 && el("span", { class: "chip waiting" }, `${waiting} waiting`), bad > 0 && el("span", { class: "chip bad" }, `${bad} unanswered`),
    el("span", { class: "caret", "aria-hidden": "true" }, shown ? "▾" : "▴"));
  const scroll = node.querySelector(".inspector-rows")?.scrollTop ?? 0;
  replace(node, head, shown && el("div", { class: "inspector-rows", tabindex: "0" }, rows.length ? rows.map(row) : el("p", { class: "muted" }, "Nothing has been sent yet.")));
  if (shown) node.querySelector(".inspector-rows").scrollTop = scroll;
}

function merged() {
  const envelopes = state.envelopes.map((one) => ({ id: one.envelope_id, at: one.sent_at, envelope: one }));
  const calls = state.calls.map((one, at) => ({ id: `call-${one.at}-${at}`, at: one.at, call: one }));
  return [...envelopes, ...calls].sort((one, two) => two.at - one.at).slice(0, 200);
}

function row(item) {
  const at = clock(new Date(item.at * 1000));
  if (item.call) {
    const good = item.call.outcome === "ok";
    return el("div", { class: "inspector-row" }, el("time", {}, at), el("span", { class: "way", title: "the app called" }, "←"), el("code", {}, item.call.method),
      el("span", { class: `chip ${good ? "acked" : "bad"}` }, item.call.outcome), el("span", { class: "muted" }, `${item.call.ms} ms`));
  }
  const one = item.envelope;
  const details = el("details", { open: open.has(item.id), "data-envelope-id": one.envelope_id },
    el("summary", { class: "inspector-row" }, el("time", {}, at), el("span", { class: "way", title: "sent to the app" }, "→"), el("code", {}, one.type),
      el("span", { class: "ellipsis" }, `${state.people.get(one.user)?.real_name ?? one.user}: ${one.summary}`),
      one.attempt > 0 && el("span", { class: "chip waiting" }, `retry ${one.attempt}`),
      el("span", { class: `chip ${one.state === "acked" ? "acked" : one.state === "waiting" ? "waiting" : "bad"}` }, one.state),
      el("span", { class: "muted" }, one.ms === null ? "" : `${one.ms} ms`)));
  const fill = () => { if (details.open && !details.querySelector("pre")) details.append(el("pre", {}, JSON.stringify({ payload: one.payload, ack: one.ack }, null, 2))); };
  details.addEventListener("toggle", () => { if (details.open) open.add(item.id); else open.delete(item.id); fill(); });
  fill();
  return details;
}
