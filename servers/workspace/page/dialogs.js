// Modals and confirm dialogs. The browser's own <dialog> holds the focus; what was typed is kept over updates by block and action id.

import { el, icon, replace } from "./dom.js";
import { drawBlocks } from "./blocks.js";
import { control, state } from "./store.js";
import { textObject } from "./text.js";

const typed = new Map(); // JSON of [view, block, action] → simple value
let drawn = "";
let errors = {};
let banner = "";
let busy = false;

const dialog = () => document.getElementById("modal");
const top = () => (state.modals.get(state.me) ?? []).at(-1);

export function drawModal() {
  const view = top();
  if (!view) {
    drawn = "";
    typed.clear();
    if (dialog().open) dialog().close();
    return;
  }
  const key = JSON.stringify([state.me, view.id, view.blocks, view.title, view.submit, view.close, errors, banner, busy]);
  if (key === drawn) return;
  const focused = document.activeElement?.dataset?.actionId;
  drawn = key;
  fill(view);
  if (!dialog().open) dialog().showModal();
  focus(focused);
}

export function forgetErrors() { errors = {}; banner = ""; busy = false; }

function fill(view) {
  const depth = state.modals.get(state.me).length;
  const node = dialog();
  node.dataset.viewId = view.id;
  const context = {
    errors,
    held: (block, element) => typed.get(key(view, block, element)) ?? simple(view.state?.values?.[block.block_id]?.[element.action_id]),
    typed: (block, element, value) => typed.set(key(view, block, element), value),
    act: (block, element, value, on) => press({ view_id: view.id, block, element, value, values: values(view) }, on),
  };
  const head = el("header", {}, el("img", { src: "/static/mark.svg", alt: "", width: 22, height: 22 }),
    el("h2", { id: "modal-title" }, textObject(view.title)), depth > 1 && el("span", { class: "muted" }, `${depth} of 3`),
    el("button", { type: "button", class: "icon-button", "aria-label": "Close", onclick: () => leave(view, true) }, icon("close")));
  const form = el("form", { class: "modal-form", novalidate: true, onsubmit: (event) => { event.preventDefault(); submit(view); } },
    head,
    el("div", { class: "modal-body" }, banner && el("p", { class: "banner", role: "alert" }, banner), drawBlocks(view.blocks, context)),
    el("footer", {},
      el("button", { type: "button", class: "button", "data-modal": "close", onclick: () => leave(view) }, view.close ? textObject(view.close) : "Close"),
      view.submit && el("button", { type: "submit", class: "button primary", "data-modal": "submit", disabled: busy, "aria-busy": busy ? "true" : null },
        textObject(view.submit))));
  replace(node, form);
}

function focus(actionId) {
  const invalid = dialog().querySelector("[aria-invalid=true]");
  const same = actionId && dialog().querySelector(`[data-action-id="${CSS.escape(actionId)}"]`);
  const first = dialog().querySelector(".modal-body input, .modal-body textarea, .modal-body select, .modal-body button");
  const target = invalid ?? same ?? first ?? dialog().querySelector("footer .primary, footer button");
  (target?.matches("fieldset") ? target.querySelector("input") : target)?.focus();
}

async function submit(view) {
  if (busy || !view.submit) return;
  forgetErrors();
  busy = true;
  drawModal();
  const answer = await control("submit", { view_id: view.id, values: values(view) });
  busy = false;
  if (!answer.ok) {
    errors = answer.errors ?? {};
    const beside = new Set(view.blocks.map((block) => block.block_id));
    const loose = Object.entries(errors).filter(([block]) => !beside.has(block)).map(([, words]) => words);
    banner = [answer.detail, ...loose].filter(Boolean).join(" ");
  }
  drawModal();
}

function leave(view, all = false) {
  forgetErrors();
  control("close", { view_id: view.id, all });
}

function values(view) {
  const found = {};
  for (const [name, value] of typed) {
    const [viewId, block, action] = JSON.parse(name);
    if (viewId === view.id) (found[block] ??= {})[action] = value;
  }
  return found;
}

function key(view, block, element) { return JSON.stringify([view.id, block.block_id, element.action_id]); }

export function simple(entry) {
  if (!entry) return undefined;
  if (entry.selected_options) return entry.selected_options.map((option) => option.value);
  if ("selected_option" in entry) return entry.selected_option?.value;
  return entry.value ?? entry.selected_date ?? entry.selected_time ?? undefined;
}

// Press something, after its confirm dialog if it has one. `place` names a message (ts), a modal (view_id) or the home tab.
export async function press({ block, element, value, values: held, ...place }, node) {
  if (element.confirm && !(await ask(element.confirm))) return;
  if (element.url && /^https?:/i.test(element.url)) window.open(element.url, "_blank", "noopener,noreferrer");
  node?.setAttribute("aria-busy", "true");
  const order = { ...place, block_id: block.block_id, action_id: element.action_id, value, values: held, confirmed: Boolean(element.confirm) };
  const answer = await control("click", order);
  node?.removeAttribute("aria-busy");
  if (!answer.ok && !["timeout", "undelivered"].includes(answer.error)) toast(answer.detail);
  if (!answer.ok && place.view_id) { banner = answer.detail; drawModal(); }
}

export function ask({ title, text, confirm, deny, style }) {
  const node = document.getElementById("confirm");
  return new Promise((resolve) => {
    const end = (answer) => { node.oncancel = null; node.close(); resolve(answer); };
    node.oncancel = (event) => { event.preventDefault(); end(false); };
    replace(node,
      el("header", {}, el("h2", { id: "confirm-title" }, textObject(title))),
      el("div", { class: "modal-body" }, textObject(text)),
      el("footer", {},
        el("button", { type: "button", class: "button", "data-confirm": "deny", onclick: () => end(false) }, textObject(deny)),
        el("button", { type: "button", class: `button ${style ?? "primary"}`, "data-confirm": "confirm", onclick: () => end(true) }, textObject(confirm))));
    node.showModal();
    node.querySelector("[data-confirm=deny]").focus();
  });
}

export function plain(text) { return { type: "plain_text", text }; }

export function toast(words) {
  const node = el("div", { class: "toast" }, words);
  document.getElementById("toasts").append(node);
  setTimeout(() => node.remove(), 6000);
}

export function wire() {
  dialog().addEventListener("cancel", (event) => {
    event.preventDefault();
    const view = top();
    if (view) leave(view);
  });
}
