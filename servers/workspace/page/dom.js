// Builds elements. Text always becomes a text node: nothing in this page is ever parsed as HTML.

export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
}

export function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child);
  }
  return node;
}

export function replace(node, ...children) {
  node.replaceChildren();
  return append(node, children);
}

const PATHS = {
  reply: "M4 12.5V6.5A2.5 2.5 0 0 1 6.5 4h7A2.5 2.5 0 0 1 16 6.5v4a2.5 2.5 0 0 1-2.5 2.5H8l-4 3.5z",
  close: "M5 5l10 10M15 5L5 15",
  back: "M12 4l-6 6 6 6",
  trash: "M4 6h12M8 6V4h4v2M6 6l.7 10h6.6L14 6M8.5 9v4.5M11.5 9v4.5",
  pin: "M7 3h6l-1 5 2.5 3h-9L8 8zM10 11v6",
  send: "M3 10l14-6-5 13-3-5.5z",
  hash: "M8 3L6 17M14 3l-2 14M3.5 7.5h13M3 12.5h13",
  home: "M3 9.5L10 4l7 5.5M5 8.5V16h10V8.5",
  mail: "M3 5h14v10H3zM3 5.5l7 5.5 7-5.5",
  spark: "M4 16V9M8 16V5M12 16v-6M16 16V3",
  chat: "M10 17a7 7 0 1 0-6-3.5L3 17z",
  more: "M5 10h.01M10 10h.01M15 10h.01",
  auto: "M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14",
  light: "M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M10 2v1.5M10 16.5V18M2 10h1.5M16.5 10H18M4.3 4.3l1 1M14.7 14.7l1 1M4.3 15.7l1-1M14.7 5.3l1-1",
  dark: "M16 12.5A7 7 0 0 1 7.5 4a6.5 6.5 0 1 0 8.5 8.5z",
};

export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", "icon");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

export function time(ts) {
  const date = new Date(Number(ts) * 1000);
  return el("time", { datetime: date.toISOString(), title: date.toLocaleString() }, clock(date));
}

export function clock(date) {
  return date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

export function day(ts) {
  const date = new Date(Number(ts) * 1000);
  const today = new Date().toDateString() === date.toDateString();
  return today ? "Today" : date.toLocaleDateString([], { weekday: "long", day: "numeric", month: "long" });
}
