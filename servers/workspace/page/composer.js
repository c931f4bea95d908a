// The message box: writes a message, or a slash command with hints for what can follow it.

import { el, icon, replace } from "./dom.js";
import { control, me, state } from "./store.js";
import { toast } from "./dialogs.js";

// thread: a function that gives the thread's ts, or null for the channel's own box (the only one that takes commands)
export function makeComposer(node, id, thread = null) {
  const box = el("textarea", { id: `${id}-text`, rows: 1, "aria-label": "Message", autocomplete: "off" });
  const hints = el("div", { class: "hints", role: "listbox", "aria-label": "Commands", hidden: true });
  const button = el("button", { type: "submit", class: "send", "aria-label": "Send" }, icon("send"));
  const form = el("form", { onsubmit: (event) => { event.preventDefault(); send(); } }, box, button);
  replace(node, hints, form);

  async function send() {
    const text = box.value.trim();
    if (!text) return;
    box.value = "";
    grow();
    const answer = !thread && text.startsWith("/") ? await slash(text) : await control("message", { text, channel: state.channel, thread_ts: thread?.() });
    if (!answer.ok && answer.error !== "timeout" && answer.error !== "undelivered") { toast(answer.detail); box.value = text; }
  }

  function slash(text) {
    const [command, ...rest] = text.split(/\s+/);
    return control("slash", { command, text: rest.join(" "), channel: state.channel });
  }

  function grow() {
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight, 160)}px`;
    button.disabled = !box.value.trim();
    if (!thread) suggest();
  }

  function suggest() {
    const found = box.value.startsWith("/") ? suggestions(box.value) : [];
    hints.hidden = !found.length;
    replace(hints, found.map((one) => el("button", { type: "button", role: "option", class: "hint-row", onclick: () => { box.value = one.fill; box.focus(); grow(); } },
      el("b", {}, one.shown), el("span", { class: "muted" }, one.about))));
  }

  box.addEventListener("input", grow);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); send(); }
    if (event.key === "Escape") hints.hidden = true;
    if (event.key === "Tab" && !hints.hidden && !event.shiftKey) { event.preventDefault(); hints.querySelector("button").click(); }
  });
  grow();
  return () => {
    const name = me()?.real_name.split(" ")[0] ?? "";
    box.placeholder = thread ? `Reply as ${name}` : `Message as ${name}, or type /`;
  };
}

function suggestions(text) {
  const typed = text.toLowerCase();
  return state.commands.flatMap((command) => {
    const ways = split(command.usage_hint ?? "").map((way) => ({
      shown: `${command.command} ${way}`, about: "", fill: `${command.command} ${way.split(/\s*[[A-Z<]/)[0].trim()} `.replace(/\s+/g, " "),
    }));
    const all = [{ shown: command.command, about: command.description ?? "", fill: `${command.command} ` }, ...ways];
    return all.filter((one) => one.shown.toLowerCase().startsWith(typed) || one.fill.trim().startsWith(typed.trim()) && typed.length <= one.fill.length);
  });
}

// "run [n | all] | status" → ["run [n | all]", "status"]
function split(hint) {
  const parts = [""];
  let depth = 0;
  for (const letter of hint) {
    if (letter === "[") depth += 1;
    if (letter === "]") depth -= 1;
    if (letter === "|" && depth === 0) parts.push(""); else parts[parts.length - 1] += letter;
  }
  return parts.map((part) => part.trim()).filter(Boolean);
}
