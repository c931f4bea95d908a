// Puts the page together: who one is, which place is shown, and what to draw again when something changed.

import { el, icon, replace } from "./dom.js";
import { drawBlocks } from "./blocks.js";
import { makeComposer } from "./composer.js";
import { configured, drawCustomers, refresh as refreshCustomers } from "./customers.js";
import { drawModal, forgetErrors, press, simple, toast, wire } from "./dialogs.js";
import { drawInspector } from "./inspector.js";
import { avatar, drawList, drawPinned, keepAtEnd } from "./messages.js";
import { control, find, follow, load, me, onChange, shown, state } from "./store.js";
import { watchSupervisor } from "./supervisor.js";

const $ = (id) => document.getElementById(id);
let placeholders = [];
let unreadMail = 0;
let drawnHome = "";

function drawPeople() {
  const people = [...state.people.values()];
  replace($("people"), people.map((person) => {
    const mine = person.id === state.me;
    return el("button", {
      type: "button", role: "radio", class: `person ${mine ? "mine" : ""}`, "aria-checked": String(mine), tabindex: mine ? "0" : "-1",
      "data-user-id": person.id, title: `${person.real_name} · ${person.title}`, "aria-label": `${person.real_name}, ${person.title}`,
      onclick: () => become(person.id),
    }, avatar(person, "small"), personName(person));
  }));
}

function personName(person) {
  const [first, ...rest] = person.real_name.split(" ");
  return el("span", { class: "person-name" }, el("b", {}, first, el("span", { class: "surname" }, ` ${rest.join(" ")}`)), el("small", {}, person.title));
}

function become(id) {
  state.me = id;
  localStorage.setItem("me", id);
  forgetErrors();
  drawAll();
  $("people").querySelector(".mine")?.focus();
}

$("people").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const ids = [...state.people.keys()];
  become(ids[(ids.indexOf(state.me) + step + ids.length) % ids.length]);
});

function drawPlaces() {
  const mine = (channel) => channel.members.includes(state.me) && channel.members.includes(state.app.user_id) && !channel.is_archived;
  const channels = [...state.channels.values()].filter(mine);
  const place = (name, label, view, channel, badge) => el("button", {
    type: "button", class: "place", title: label, "data-place": channel ?? view, "aria-current": state.view === view && (!channel || channel === state.channel) ? "page" : null,
    onclick: () => go(view, channel),
  }, icon(name), el("span", {}, label), badge > 0 && el("span", { class: "badge" }, badge));
  replace($("places"),
    channels.filter((one) => !one.is_im).map((one) => place("hash", one.name, "channel", one.id)),
    place("home", `${state.app.real_name} home`, "home"),
    channels.filter((one) => one.is_im).map((one) => place("chat", `${state.app.real_name} (direct)`, "channel", one.id)),
    configured() && place("mail", "Customers’ side", "customers", null, unreadMail));
}

function drawConnection() {
  const words = !state.live ? "The workspace does not answer" : state.connections ? `${state.app.real_name} is connected` : `${state.app.real_name} is not connected`;
  $("connection").classList.toggle("bad", !(state.live && state.connections));
  replace($("connection"), el("span", { class: `dot ${state.live && state.connections ? "good" : "bad"}` }), el("span", {}, words));
}

function go(view, channel) {
  if (channel) state.channel = channel;
  if (view !== state.view || channel) state.view = view;
  if (view === "home") control("home");
  if (view === "customers") unreadMail = 0;
  if (view !== "channel") state.thread = null;
  drawAll();
}

window.addEventListener("open-thread", ({ detail }) => {
  state.channel = detail.channel;
  state.thread = detail.ts;
  state.view = "channel";
  drawAll();
  $("thread-text")?.focus();
});

function closeThread() {
  const ts = state.thread;
  state.thread = null;
  drawAll();
  document.querySelector(`#messages [data-ts="${ts}"]`)?.focus();
}

function drawThread() {
  const pane = $("pane-thread");
  pane.hidden = !state.thread;
  if (!state.thread) return;
  if (!pane.querySelector(".messages")) {
    const composer = el("div", { class: "composer" });
    replace(pane, el("div", { class: "pane-head" },
      el("button", { type: "button", class: "icon-button only-narrow", "aria-label": "Back to the channel", onclick: closeThread }, icon("back")),
      el("h1", {}, "Thread"), el("span", { class: "spring" }),
      el("button", { type: "button", class: "icon-button not-narrow", "aria-label": "Close thread", onclick: closeThread }, icon("close"))),
    el("ol", { class: "messages", id: "thread-messages", tabindex: "0", "aria-label": "Thread" }), composer);
    keepAtEnd($("thread-messages"));
    placeholders.push(makeComposer(composer, "thread", () => state.thread));
  }
  drawList($("thread-messages"), state.channel, state.thread);
}

function drawHome() {
  const view = state.homes.get(state.me);
  const key = JSON.stringify([state.me, view?.hash, view?.blocks]);
  if (key === drawnHome) return;
  drawnHome = key;
  const chosen = {};
  const context = {
    held: (block, element) => chosen[block.block_id]?.[element.action_id] ?? simple(view.state?.values?.[block.block_id]?.[element.action_id]),
    typed: (block, element, value) => { (chosen[block.block_id] ??= {})[element.action_id] = value; },
    act: (block, element, value, node) => press({ home: true, block, element, value, values: chosen }, node),
  };
  replace($("pane-home"), el("div", { class: "pane-head" }, el("h1", {}, `${state.app.real_name} home`), el("p", { class: "muted" }, `as ${me().real_name} sees it`)),
    el("div", { class: "home-body" }, view ? drawBlocks(view.blocks, context) : el("p", { class: "muted" }, "The app has not published a home tab for this person.")));
}

function drawChannel() {
  const channel = state.channels.get(state.channel);
  $("channel-name").textContent = channel.is_im ? state.app.real_name : `# ${channel.name}`;
  $("channel-topic").textContent = channel.topic ?? "";
  drawPinned($("pinned"), state.channel);
  drawList($("messages"), state.channel, null);
}

function drawAll() {
  document.body.dataset.view = state.thread ? "thread" : state.view;
  $("team-name").textContent = state.team.name;
  for (const view of ["channel", "home", "customers"]) $(`pane-${view}`).hidden = state.view !== view;
  drawPeople();
  drawPlaces();
  drawConnection();
  if (state.view === "channel") drawChannel();
  if (state.view === "home") drawHome();
  if (state.view === "customers") drawCustomers($("pane-customers"));
  drawThread();
  drawModal();
  drawInspector($("inspector"));
  for (const set of placeholders) set();
}

// Changes come in bursts: draw once a frame, and only what the kinds ask for.
const pending = new Set();

onChange((kind, detail) => {
  if (kind === "message") announce(detail.message);
  if (kind === "notice" && detail.notice.user === state.me && !find(detail.notice.about) && !$("modal").open) toast(detail.notice.text);
  if (kind === "mail" && state.view !== "customers") unreadMail += 1;
  if (!pending.size) requestAnimationFrame(drawPending);
  pending.add(kind);
});

function drawPending() {
  const kinds = new Set(pending);
  pending.clear();
  const any = (...names) => names.some((name) => kinds.has(name));
  if (kinds.has("all")) return drawAll();
  if (any("message", "message_gone", "ephemeral", "ephemeral_gone", "notice", "notices", "pins") && state.view === "channel") { drawChannel(); drawThread(); }
  if (any("modals")) drawModal();
  if (any("home") && state.view === "home") drawHome();
  if (any("channel", "mail")) drawPlaces();
  if (any("connections")) drawConnection();
  if (any("envelope", "call")) drawInspector($("inspector"));
  if (any("mail", "message") && state.view === "customers") refreshCustomers();
  return undefined;
}

function announce(message) {
  const fresh = Date.now() / 1000 - Number(message.ts) < 3;
  if (fresh && message.user !== state.me) $("announcer").textContent = `New message: ${String(message.text ?? "").slice(0, 120)}`;
}

const THEMES = { auto: "automatic", light: "light", dark: "dark" };

function theme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = name;
  localStorage.setItem("theme", name);
  replace($("theme"), icon(name));
  $("theme").setAttribute("aria-label", `Colours: ${THEMES[name]}`);
  $("theme").title = `Colours: ${THEMES[name]}`;
}

$("theme").addEventListener("click", () => {
  const names = Object.keys(THEMES);
  theme(names[(names.indexOf(localStorage.getItem("theme") ?? "auto") + 1) % names.length]);
});

function jump() {
  const ts = location.hash.slice(1);
  const message = ts && find(ts);
  if (!message) return;
  state.channel = message.channel;
  if (message.thread_ts && message.thread_ts !== ts) state.thread = message.thread_ts;
  drawAll();
  const node = document.querySelector(`[data-ts="${CSS.escape(ts)}"]`);
  node?.scrollIntoView({ block: "center" });
  node?.focus();
}

document.addEventListener("keydown", (event) => {
  const free = !$("modal").open && !$("confirm").open && !event.defaultPrevented;
  if (event.key === "Escape" && state.thread && free) closeThread();
});

theme(localStorage.getItem("theme") ?? "auto");
wire();
keepAtEnd($("messages"));
placeholders.push(makeComposer($("composer"), "composer"));
window.addEventListener("hashchange", jump);
await load();
follow();
drawAll();
jump();
watchSupervisor($("supervisor"));
if (!shown(state.channel).length) $("composer-text").focus();
document.body.dataset.ready = "true";
