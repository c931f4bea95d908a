// The line at the top while a supervisor runs the demo: how the model and the bot are, Kill the bot, Reset everything.

import { el, replace } from "./dom.js";
import { get, post, state } from "./store.js";
import { ask, plain, toast } from "./dialogs.js";

const GOOD = new Set(["live", "up"]);
const BUSY = new Set(["building", "fetching"]);
let last = "";

export async function watchSupervisor(node) {
  if (!state.beyond.supervisor) return;
  node.hidden = false;
  const answer = await get("/page/supervisor");
  const key = JSON.stringify(answer);
  if (key !== last) { last = key; draw(node, answer); }
  setTimeout(() => watchSupervisor(node), 2000);
}

function draw(node, answer) {
  const { model, bot } = answer.status ?? {};
  replace(node,
    el("div", { class: "lights" }, answer.problem && light("failed", answer.problem),
    model && light(model.state, model.detail || `real model: ${model.state}`, "model"),
    bot && light(bot.state, bot.state === "up" ? `bot is up${bot.pid ? ` (process ${bot.pid})` : ""}` : "bot is down", "bot")),
    el("div", { class: "orders" }, el("button", { type: "button", class: "button small", id: "kill-bot", onclick: kill }, "Kill the bot"),
    el("button", { type: "button", class: "button small", id: "reset-everything", onclick: reset }, "Reset everything")));
}

function light(kind, words, of = "") {
  const colour = GOOD.has(kind) ? "good" : BUSY.has(kind) ? "busy" : kind === "recorded" ? "calm" : "bad";
  return el("span", { class: "light", "data-light": of, "data-state": kind }, el("span", { class: `dot ${colour}` }), words);
}

async function kill() {
  const words = "The bot’s process ends at once, in the middle of whatever it does. It starts again by itself; old buttons go on working.";
  if (!(await ask({ title: plain("Kill the bot?"), text: plain(words), confirm: plain("Kill it"), deny: plain("Let it live"), style: "danger" }))) return;
  told(await post("/page/kill-bot"), "The bot was killed. It comes back by itself.");
}

async function reset() {
  const words = "Channel, journal, shop and mail go back to how they were at the first start.";
  if (!(await ask({ title: plain("Reset everything?"), text: plain(words), confirm: plain("Reset"), deny: plain("Keep it"), style: "danger" }))) return;
  told(await post("/page/reset-everything"), "Everything was reset.");
}

function told(answer, words) { toast(answer.ok ? words : answer.detail); }
