// What the page knows: the workspace's state as the server tells it, and who one is. Draws nothing.

const KEEP = 300;
const listeners = new Set();
let versions = 0;

export const state = {
  ready: false, me: null, view: "channel", channel: "C_SUPPORT", thread: null,
  team: {}, app: {}, people: new Map(), teams: [], commands: [], shortcuts: [], usergroups: new Map(), beyond: {},
  channels: new Map(), messages: new Map(), ephemerals: new Map(), modals: new Map(), homes: new Map(), pins: new Map(),
  notices: [], envelopes: [], calls: [], connections: 0, live: true,
};

export function onChange(listener) { listeners.add(listener); }
export function changed(kind, detail = {}) { for (const listener of listeners) listener(kind, detail); }

export async function load() {
  const body = await (await fetch("/page/state")).json();
  Object.assign(state, {
    team: body.team, app: body.app, teams: body.teams, commands: body.commands, shortcuts: body.shortcuts, beyond: body.beyond,
    people: new Map(body.people.map((person) => [person.id, person])),
    usergroups: new Map(body.usergroups.map((group) => [group.id, group])),
    channels: new Map(Object.values(body.channels).map(({ messages, ...channel }) => [channel.id, channel])),
    messages: new Map(Object.values(body.channels).map((channel) => [channel.id, keyed(channel.messages)])),
    ephemerals: keyed(body.ephemerals), modals: new Map(Object.entries(body.modals)), homes: new Map(Object.entries(body.homes)),
    pins: new Map(Object.entries(body.pins)), notices: body.notices, envelopes: body.envelopes.slice(-KEEP),
    calls: body.calls.slice(-KEEP), connections: body.connections, ready: true,
  });
  const wanted = localStorage.getItem("me");
  if (!state.me) state.me = state.people.has(wanted) ? wanted : body.people[0].id;
  if (!state.channels.has(state.channel)) state.channel = body.channels.C_SUPPORT?.id ?? Object.keys(body.channels)[0];
  if (state.thread && !state.messages.get(state.channel).has(state.thread)) state.thread = null;
  changed("all");
}

export function follow() {
  const source = new EventSource("/page/events");
  let broken = false;
  source.onmessage = (event) => take(JSON.parse(event.data));
  source.onopen = () => { state.live = true; if (broken) load(); broken = false; changed("connections"); };
  source.onerror = () => { broken = true; state.live = false; changed("connections"); };
}

const takers = {
  message: ({ message }) => place(state.messages, message.channel).set(message.ts, versioned(message)),
  message_gone: ({ channel, ts }) => place(state.messages, channel).delete(ts),
  ephemeral: ({ message }) => state.ephemerals.set(message.ts, versioned(message)),
  ephemeral_gone: ({ ts }) => state.ephemerals.delete(ts),
  channel: ({ channel }) => state.channels.set(channel.id, channel),
  modals: ({ user, stack }) => state.modals.set(user, stack),
  home: ({ user, view }) => state.homes.set(user, view),
  pins: ({ channel, items }) => state.pins.set(channel, items),
  notices: ({ notices }) => { state.notices = notices; },
  notice: ({ notice }) => state.notices.push(notice),
  envelope: ({ envelope }) => upsert(state.envelopes, envelope),
  call: ({ call }) => { state.calls.push(call); state.calls.splice(0, state.calls.length - KEEP); },
  connections: ({ n }) => { state.connections = n; },
};

function take(change) {
  if (change.kind === "reset") return load();
  takers[change.kind]?.(change);
  return changed(change.kind, change);
}

export async function control(verb, order = {}) { return post(`/control/${verb}`, { user: state.me, ...order }); }

export async function post(path, body = {}) {
  try {
    const response = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    return await response.json();
  } catch {
    return { ok: false, error: "unreachable", detail: "The workspace does not answer. Is it still running?" };
  }
}

export async function get(path) {
  try { return await (await fetch(path)).json(); } catch { return { ok: false, error: "unreachable", detail: "The workspace does not answer." }; }
}

export function me() { return state.people.get(state.me); }

export function author(message) {
  if (message.user === "USLACKBOT") return { id: "USLACKBOT", name: "workspace", real_name: "Workspace", kind: "system" };
  if (message.user === state.app.user_id) return { ...state.app, id: state.app.user_id, kind: "app" };
  return state.people.get(message.user) ?? { id: message.user, name: message.user, real_name: message.user, kind: "unknown" };
}

export function isReply(message) { return Boolean(message.thread_ts) && message.thread_ts !== message.ts; }

export function thread(channel, root) {
  return sorted([...place(state.messages, channel).values()].filter((m) => isReply(m) && m.thread_ts === root));
}

// What a pane shows: the channel itself, or one thread; with the ephemerals that are for this person and place.
export function shown(channel, root = null) {
  const all = [...place(state.messages, channel).values()];
  const mine = [...state.ephemerals.values()].filter((m) => m.to === state.me && m.channel === channel);
  if (root) {
    return sorted([...all.filter((m) => m.ts === root || m.thread_ts === root), ...mine.filter((m) => m.thread_ts === root)]);
  }
  return sorted([...all.filter((m) => !isReply(m) || m.subtype === "thread_broadcast"), ...mine.filter((m) => !m.thread_ts)]);
}

export function find(ts) {
  for (const messages of state.messages.values()) if (messages.has(ts)) return messages.get(ts);
  return state.ephemerals.get(ts);
}

function place(map, key) {
  if (!map.has(key)) map.set(key, new Map());
  return map.get(key);
}
function keyed(messages) { return new Map(messages.map((message) => [message.ts, versioned(message)])); }
function versioned(message) { return { ...message, version: ++versions }; }
function sorted(messages) { return messages.sort((one, two) => (one.ts < two.ts ? -1 : 1)); }
function upsert(list, envelope) {
  const at = list.findIndex((other) => other.envelope_id === envelope.envelope_id);
  if (at >= 0) list[at] = envelope; else list.push(envelope);
  list.splice(0, list.length - KEEP);
}
