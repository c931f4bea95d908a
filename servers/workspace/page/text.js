// Draws Slack's text: the mrkdwn subset, plain_text, rich_text. Everything ends as text nodes; entities are shown as typed.

import { append, el } from "./dom.js";
import { state } from "./store.js";

const EMOJI = {
  white_check_mark: "✅", heavy_check_mark: "✔️", x: "❌", warning: "⚠️", hourglass: "⌛", hourglass_flowing_sand: "⏳", lock: "🔒",
  unlock: "🔓", pushpin: "📌", eyes: "👀", wave: "👋", thumbsup: "👍", "+1": "👍", thumbsdown: "👎", "-1": "👎", tada: "🎉", robot_face: "🤖",
  ticket: "🎫", email: "📧", envelope: "✉️", incoming_envelope: "📨", package: "📦", moneybag: "💰", money_with_wings: "💸", euro: "💶",
  rotating_light: "🚨", red_circle: "🔴", large_green_circle: "🟢", large_yellow_circle: "🟡", large_orange_circle: "🟠",
  large_blue_circle: "🔵", white_circle: "⚪", black_circle: "⚫", no_entry: "⛔", no_entry_sign: "🚫", octagonal_sign: "🛑", stop_sign: "🛑",
  question: "❓", grey_question: "❔", exclamation: "❗", bulb: "💡", memo: "📝", pencil2: "✏️", clipboard: "📋", mag: "🔍", link: "🔗",
  gear: "⚙️", wrench: "🔧", alarm_clock: "⏰", clock3: "🕒", bell: "🔔", speech_balloon: "💬", scroll: "📜", closed_lock_with_key: "🔐",
  shield: "🛡️", snowflake: "❄️", fire: "🔥", sparkles: "✨", arrow_right: "➡️", leftwards_arrow_with_hook: "↩️", hand: "✋", raised_hand: "✋",
  information_source: "ℹ️", bust_in_silhouette: "👤", busts_in_silhouette: "👥", receipt: "🧾", page_facing_up: "📄", point_right: "👉",
  double_vertical_bar: "⏸️", arrows_counterclockwise: "🔄", recycle: "♻️", heavy_multiplication_x: "✖️", small_orange_diamond: "🔸",
};

const ENTITIES = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };
const unescape = (text) => text.replace(/&(?:lt|gt|amp);/g, (entity) => ENTITIES[entity]);
const emojis = (text) => text.replace(/:([a-z0-9_+-]+):/g, (whole, name) => EMOJI[name] ?? whole);

export function textObject(object) {
  if (!object) return "";
  if (object.type === "plain_text") return el("span", { class: "plain" }, object.emoji === false ? object.text : emojis(object.text));
  return mrkdwn(object.text, object.verbatim === true);
}

export function mrkdwn(text, verbatim = false) {
  const root = el("div", { class: "mrkdwn" });
  for (const [at, part] of text.split("```").entries()) {
    if (at % 2) root.append(el("pre", {}, unescape(part.replace(/^\n|\n$/g, ""))));
    else if (part) lines(root, part, verbatim);
  }
  return root;
}

function lines(root, text, verbatim) {
  let quote = null;
  for (const [at, line] of text.split("\n").entries()) {
    const quoted = line.match(/^(?:&gt;|>)\s?(.*)$/);
    if (quoted) {
      if (!quote) root.append(quote = el("blockquote"));
      else quote.append(el("br"));
      append(quote, inline(quoted[1], verbatim));
      continue;
    }
    if (at > 0 && !quote) root.append(el("br"));
    quote = null;
    append(root, inline(line, verbatim));
  }
}

// One left-to-right scan; the first rule that matches wins, what is inside a code span is never looked at again.
const RULES = [
  [/`([^`\n]+)`/, (m) => el("code", {}, unescape(m[1]))],
  [/<([^<>\n]+)>/, (m) => reference(m[1])],
  [/(?<![\w*])\*(?=\S)([^*\n]*[^*\s])\*(?![\w*])/, (m, v) => el("strong", {}, inline(m[1], v))],
  [/(?<!\w)_(?=\S)([^_\n]*[^_\s])_(?!\w)/, (m, v) => el("em", {}, inline(m[1], v))],
  [/(?<!\w)~(?=\S)([^~\n]*[^~\s])~(?!\w)/, (m, v) => el("s", {}, inline(m[1], v))],
  [/https?:\/\/(?:&amp;|[^\s<>&])*(?:&amp;|[^\s<>&.,;:!?)\]'"])/, (m, v) => (v ? unescape(m[0]) : anchor(unescape(m[0]), unescape(m[0])))],
];

function inline(text, verbatim) {
  const out = [];
  let rest = text;
  while (rest) {
    let best = null;
    for (const [pattern, make] of RULES) {
      const match = rest.match(pattern);
      if (match && (!best || match.index < best.match.index)) best = { match, make };
    }
    if (!best) break;
    if (best.match.index) out.push(emojis(unescape(rest.slice(0, best.match.index))));
    out.push(best.make(best.match, verbatim));
    rest = rest.slice(best.match.index + best.match[0].length);
  }
  if (rest) out.push(emojis(unescape(rest)));
  return out;
}

function reference(body) {
  const [target, label] = split(body);
  if (target.startsWith("@")) return user(target.slice(1), label);
  if (target.startsWith("#")) return pill(`#${label ?? state.channels.get(target.slice(1))?.name ?? target.slice(1)}`);
  if (target.startsWith("!subteam^")) return usergroup(target.slice("!subteam^".length));
  if (target.startsWith("!date^")) return moment(Number(target.split("^")[1]), target.split("^")[2] ?? "", label);
  if (target.startsWith("!")) return pill(`@${target.slice(1)}`, "broadcast");
  if (/^(https?:|mailto:)/i.test(target)) return anchor(unescape(target), label ? unescape(label) : unescape(target).replace(/^mailto:/, ""));
  return `<${unescape(body)}>`;
}

// A moment in the reader's own time zone, by Slack's format tokens.
function moment(timestamp, format, fallback) {
  const date = new Date(timestamp * 1000);
  if (Number.isNaN(date.getTime()) || !format) return fallback ?? String(timestamp);
  const away = Math.round((new Date(date).setHours(0, 0, 0, 0) - new Date().setHours(0, 0, 0, 0)) / 86_400_000);
  const near = { "-1": "Yesterday", 0: "Today", 1: "Tomorrow" }[away];
  const as = (options) => date.toLocaleDateString([], options);
  const words = format.replace(/\{(\w+)\}/g, (whole, token) => {
    if (token === "time") return date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    if (token === "time_secs") return date.toLocaleTimeString();
    if (token.endsWith("_pretty") && near) return near;
    if (token === "date_num") return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, "0")}-${String(date.getDate()).padStart(2, "0")}`;
    if (token.startsWith("date_short")) return as({ month: "short", day: "numeric", year: "numeric" });
    if (token.startsWith("date_long")) return as({ weekday: "long", month: "long", day: "numeric", year: "numeric" });
    if (token.startsWith("date")) return as({ month: "long", day: "numeric", year: "numeric" });
    return whole;
  });
  return el("time", { datetime: date.toISOString(), title: fallback ?? date.toLocaleString() }, words);
}

function split(body) {
  const at = body.indexOf("|");
  return at < 0 ? [body, undefined] : [body.slice(0, at), body.slice(at + 1)];
}

function anchor(href, label) {
  return el("a", { href, target: "_blank", rel: "noopener noreferrer nofollow", title: href }, label);
}

function pill(text, kind = "") { return el("span", { class: `mention ${kind}` }, text); }
function user(id, label) {
  const name = state.people.get(id)?.real_name ?? (id === state.app.user_id ? state.app.real_name : label ?? id);
  return pill(`@${name}`, id === state.me ? "is-me" : "");
}
function usergroup(id) {
  const group = state.usergroups.get(id);
  return pill(`@${group?.handle ?? id}`, group?.users.includes(state.me) ? "is-me" : "");
}

export function richText(block) { return el("div", { class: "rich" }, block.elements.map(richPart)); }

function richPart(part) {
  if (part.type === "rich_text_section") return el("p", {}, part.elements.map(richLeaf));
  if (part.type === "rich_text_quote") return el("blockquote", {}, part.elements.map(richLeaf));
  if (part.type === "rich_text_preformatted") return el("pre", {}, part.elements.map((leaf) => leaf.text ?? leaf.url ?? ""));
  if (part.type === "rich_text_list") {
    const tag = part.style === "ordered" ? "ol" : "ul";
    return el(tag, { class: `indent-${part.indent ?? 0}` }, part.elements.map((item) => el("li", {}, item.elements.map(richLeaf))));
  }
  return unknown(part.type);
}

function richLeaf(leaf) {
  if (leaf.type === "text") return styled(leaf.text, leaf.style);
  if (leaf.type === "link") return styled(anchor(leaf.url, leaf.text ?? leaf.url), leaf.style);
  if (leaf.type === "emoji") return EMOJI[leaf.name] ?? `:${leaf.name}:`;
  if (leaf.type === "user") return user(leaf.user_id);
  if (leaf.type === "usergroup") return usergroup(leaf.usergroup_id);
  if (leaf.type === "channel") return pill(`#${state.channels.get(leaf.channel_id)?.name ?? leaf.channel_id}`);
  if (leaf.type === "broadcast") return pill(`@${leaf.range}`, "broadcast");
  if (leaf.type === "date") return moment(leaf.timestamp, leaf.format ?? "", leaf.fallback);
  return unknown(leaf.type);
}

function styled(content, style = {}) {
  let node = content;
  if (style.code) node = el("code", {}, node);
  if (style.strike) node = el("s", {}, node);
  if (style.italic) node = el("em", {}, node);
  if (style.bold) node = el("strong", {}, node);
  return node;
}

export function unknown(type) {
  return el("div", { class: "unknown", role: "alert", "data-unknown-block": type }, `unknown block: ${type}`);
}

// Whether a message calls this person: by name, by one of their groups, or everyone.
export function mentions(message) {
  const words = JSON.stringify([message.text, message.blocks ?? []]);
  if (words.includes(`<@${state.me}`) || words.includes(`"user_id":"${state.me}"`)) return true;
  return [...state.usergroups.values()].some(
    (group) => group.users.includes(state.me) && (words.includes(`<!subteam^${group.id}`) || words.includes(`"usergroup_id":"${group.id}"`)),
  );
}
