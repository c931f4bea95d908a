// Draws a list of messages (the channel or a thread), touching only what changed.

import { el, day, icon, replace, time } from "./dom.js";
import { drawBlocks } from "./blocks.js";
import { press } from "./dialogs.js";
import { author, control, isReply, me, shown, state, thread } from "./store.js";
import { mentions, mrkdwn } from "./text.js";

export function avatar(person, size = "") {
  if (person.kind === "app") return el("img", { class: `avatar ${size}`, src: "/static/mark.svg", alt: "" });
  const initials = person.real_name.split(" ").map((word) => word[0]).slice(0, 2).join("");
  return el("span", { class: `avatar tone-${tone(person.id)} ${size}`, "aria-hidden": "true" }, person.kind === "system" ? "i" : initials);
}

function tone(id) { return [...id].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 6; }

// list: an <ol>; root: the thread's first ts, or null for the channel
export function drawList(list, channel, root) {
  const messages = shown(channel, root);
  const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 120 || list.dataset.of !== `${channel}/${root}`;
  const before = new Map([...list.children].map((node) => [node.dataset.key, node]));
  const focused = focusedIn(list);
  const nodes = [];
  let last = null;
  let previous = null;
  for (const message of messages) {
    if (!root && day(message.ts) !== last) {
      last = day(message.ts);
      nodes.push(kept(before, `day-${last}`, last, () => el("li", { class: "day" }, el("span", {}, last))));
      previous = null;
    }
    const follows = !root && joined(previous, message);
    nodes.push(kept(before, message.ts, signature(message, root, follows), () => drawMessage(message, root, follows)));
    previous = message;
    if (root && message.ts === root) nodes.push(repliesLine(before, channel, root));
  }
  if (!nodes.length) nodes.push(kept(before, "empty", "empty", emptyChannel));
  settle(list, nodes);
  refocus(list, focused);
  list.dataset.of = `${channel}/${root}`;
  if (atEnd) list.scrollTop = list.scrollHeight;
}

// A list that was at its end stays there when its room changes (a banner appears, the pinned message opens).
export function keepAtEnd(list) {
  let atEnd = true;
  list.addEventListener("scroll", () => { atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40; });
  new ResizeObserver(() => { if (atEnd) list.scrollTop = list.scrollHeight; }).observe(list);
}

function kept(before, key, signed, make) {
  const old = before.get(key);
  if (old && old.dataset.signed === signed) return old;
  const node = make();
  node.dataset.key = key;
  node.dataset.signed = signed;
  if (old) node.classList.add("changed");
  return node;
}

function settle(list, nodes) {
  const wanted = new Set(nodes);
  for (const node of [...list.children]) if (!wanted.has(node)) node.remove();
  nodes.forEach((node, at) => { if (list.children[at] !== node) list.insertBefore(node, list.children[at] ?? null); });
}

function focusedIn(list) {
  const active = document.activeElement;
  return list.contains(active) && active.dataset.actionId ? [active.closest("[data-ts]")?.dataset.ts, active.dataset.actionId] : null;
}

function refocus(list, focused) {
  if (!focused || list.contains(document.activeElement)) return;
  const message = list.querySelector(`[data-ts="${focused[0]}"]`);
  (message?.querySelector(`[data-action-id="${CSS.escape(focused[1])}"]`) ?? message ?? list).focus();
}

function signature(message, root, follows) {
  const replies = root ? [] : thread(message.channel, message.ts);
  const warned = state.notices.filter((notice) => notice.about === message.ts && notice.user === state.me).length;
  const pinned = state.pins.get(message.channel)?.includes(message.ts);
  return [message.version, replies.length, Math.max(...replies.map((reply) => reply.version)), warned, pinned, state.me, follows, root === message.ts].join("|");
}

function joined(previous, message) {
  return previous && previous.user === message.user && !previous.is_ephemeral && !message.is_ephemeral && !message.blocks && !previous.blocks
    && Number(message.ts) - Number(previous.ts) < 300 && !thread(previous.channel, previous.ts).length && !mentions(message);
}

function emptyChannel() {
  return el("li", { class: "empty" }, el("p", {}, "Nothing here yet."), el("p", { class: "muted" }, "As soon as the app posts something, it appears here."));
}

function repliesLine(before, channel, root) {
  const n = thread(channel, root).length;
  const words = n ? `${n} ${n === 1 ? "reply" : "replies"}` : "No replies yet";
  return kept(before, "replies", words, () => el("li", { class: "day replies-line" }, el("span", {}, words)));
}

function drawMessage(message, root, follows) {
  const person = author(message);
  const kinds = ["message", follows && "follows", message.is_ephemeral && "ephemeral", mentions(message) && "calls-me",
    message.subtype === "tombstone" && "tombstone", message.blocks && "card"];
  return el("li", { class: kinds.filter(Boolean).join(" "), "data-ts": message.ts, tabindex: "-1" },
    el("div", { class: "gutter" }, follows ? time(message.ts) : avatar(person)),
    el("div", { class: "content" },
      message.is_ephemeral && el("p", { class: "only-you" }, "Only visible to you",
        el("button", { type: "button", class: "link", onclick: () => control("delete", { ts: message.ts }) }, "Dismiss")),
      state.pins.get(message.channel)?.includes(message.ts) && el("p", { class: "only-you" }, icon("pin"), "Pinned"),
      message.subtype === "thread_broadcast" && !root && el("p", { class: "only-you" }, "also from a thread ",
        el("button", { type: "button", class: "link", onclick: () => openThread(message.channel, message.thread_ts) }, "View thread")),
      !follows && el("p", { class: "byline" }, el("b", {}, person.real_name), tag(person), time(message.ts)),
      body(message),
      message.edited && el("small", { class: "muted" }, "(edited)"),
      message.reactions && el("p", { class: "reactions" }, message.reactions.map((one) => el("span", {}, mrkdwn(`:${one.name}:`), one.count))),
      notices(message),
      !root && !isReply(message) && !message.is_ephemeral && threadLine(message)),
    tools(message, root));
}

function tag(person) {
  if (person.kind === "app") return el("span", { class: "tag" }, "APP");
  if (person.kind === "guest" || person.kind === "stranger") return el("span", { class: "tag quiet" }, person.title);
  return null;
}

function body(message) {
  if (!message.blocks?.length) return el("div", { class: "text" }, mrkdwn(message.text ?? "", message.parse === "none"));
  const chosen = {};
  const context = {
    held: (block, element) => chosen[block.block_id]?.[element.action_id] ?? element.initial_option?.value
      ?? element.initial_options?.map((option) => option.value) ?? element.initial_date,
    typed: (block, element, value) => { (chosen[block.block_id] ??= {})[element.action_id] = value; },
    act: (block, element, value, node) => press({ ts: message.ts, block, element, value, values: chosen }, node),
  };
  return drawBlocks(message.blocks, context);
}

function notices(message) {
  const mine = state.notices.filter((notice) => notice.about === message.ts && notice.user === state.me);
  return mine.length ? el("p", { class: "notice", role: "alert" }, "⚠ ", mine.at(-1).text) : null;
}

function threadLine(message) {
  const replies = thread(message.channel, message.ts);
  if (!replies.length) return null;
  const people = [...new Set(replies.map((reply) => reply.user))].slice(0, 4).map((id) => avatar(author({ user: id }), "small"));
  return el("button", { type: "button", class: "thread-line", "data-thread": message.ts, onclick: () => openThread(message.channel, message.ts) },
    people, el("b", {}, `${replies.length} ${replies.length === 1 ? "reply" : "replies"}`),
    el("span", { class: "muted last-reply" }, "last at ", time(replies.at(-1).ts)),
    replies.some((reply) => mentions(reply) && hasButtons(reply)) && el("span", { class: "chip waiting" }, "waits for you"));
}

function hasButtons(message) { return (message.blocks ?? []).some((block) => block.type === "actions"); }

function tools(message, root) {
  if (message.is_ephemeral || message.subtype === "tombstone") return null;
  const shortcut = (one) => el("button", { type: "button", class: "tool wide", onclick: () => control("shortcut", { ts: message.ts, callback_id: one.callback_id }) }, one.name);
  return el("div", { class: "tools" },
    state.shortcuts.filter((one) => one.type === "message").map(shortcut),
    !root && el("button", { type: "button", class: "tool", "aria-label": "Reply in thread", title: "Reply in thread", onclick: () => openThread(message.channel, message.thread_ts ?? message.ts) }, icon("reply")),
    (me()?.is_admin || message.user === state.me) && el("button", { type: "button", class: "tool", "aria-label": "Delete message", title: "Delete message", onclick: () => control("delete", { ts: message.ts }) }, icon("trash")));
}

export function openThread(channel, ts) {
  window.dispatchEvent(new CustomEvent("open-thread", { detail: { channel, ts } }));
}

export function drawPinned(node, channel) {
  const ts = state.pins.get(channel)?.at(-1);
  const message = ts && shown(channel).find((one) => one.ts === ts);
  node.hidden = !message;
  const signed = message ? `${signature(message, null, false)}` : "";
  if (!message || node.dataset.signed === signed) return;
  node.dataset.signed = signed;
  const roomy = window.innerWidth > 760 && window.innerHeight >= 680;
  const open = node.querySelector("details")?.open ?? (roomy && localStorage.getItem("pin-read") !== ts);
  const title = message.blocks?.find((block) => block.type === "header")?.text.text ?? message.text.split("\n")[0];
  const remember = (event) => { if (!event.target.open) localStorage.setItem("pin-read", ts); };
  replace(node, el("details", { open, ontoggle: remember }, el("summary", {}, icon("pin"), el("b", {}, "Pinned"), el("span", { class: "ellipsis" }, title)),
    el("div", { class: "pinned-body", "data-pinned-ts": message.ts }, body(message))));
}
