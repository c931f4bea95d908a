// Draws blocks: pure from data to elements. What pressing something means is told by `context.act`, given by whoever shows the blocks.
// context: { act(block, element, value, node), held(block, element), typed(block, element, value), errors }

import { el, icon } from "./dom.js";
import { state } from "./store.js";
import { richText, textObject, unknown } from "./text.js";

export function drawBlocks(blocks, context) { return el("div", { class: "blocks" }, blocks.map((block) => drawBlock(block, context))); }

const DRAW = {
  header: (block) => el("h3", { class: "b-header" }, textObject(block.text)),
  section: drawSection,
  context: (block) => el("div", { class: "b-context" }, block.elements.map((part) => (part.type === "image" ? image(part) : el("span", {}, textObject(part))))),
  divider: () => el("hr"),
  actions: (block, context) => el("div", { class: "b-actions" }, block.elements.map((element) => drawElement(block, element, context))),
  rich_text: (block) => richText(block),
  image: (block) => image(block),
  input: drawInput,
};

function drawBlock(block, context) {
  const draw = DRAW[block.type];
  const node = draw ? draw(block, context) : unknown(block.type);
  node.dataset.blockId = block.block_id ?? "";
  return node;
}

function drawSection(block, context) {
  const body = el("div", { class: "b-section-body" }, block.text && el("div", { class: "b-text" }, textObject(block.text)));
  if (block.fields) body.append(el("div", { class: "b-fields" }, block.fields.map((field) => el("div", {}, textObject(field)))));
  const accessory = block.accessory && (block.accessory.type === "image" ? image(block.accessory) : drawElement(block, block.accessory, context));
  return el("div", { class: "b-section" }, body, accessory && el("div", { class: "b-accessory" }, accessory));
}

function image(block) { return el("span", { class: "b-image" }, "🖼 ", block.alt_text); }

function drawElement(block, element, context) {
  if (element.visible_to_user_ids && !element.visible_to_user_ids.includes(state.me)) return null;
  const draw = ELEMENTS[element.type];
  if (!draw) return unknown(element.type);
  const node = draw(block, element, context, (value, on) => context.act(block, element, value, on));
  const target = node.matches("button, select, input, textarea, fieldset") ? node : node.querySelector("button, select, input, textarea, fieldset");
  target.dataset.actionId = element.action_id;
  return node;
}

const ELEMENTS = {
  button: drawButton,
  overflow: drawOverflow,
  static_select: (block, element, context, act) => select(block, element, context, (value, node) => act(value, node)),
  multi_static_select: (block, element, context, act) => choices(block, element, context, "checkbox", (value, node) => act(value, node)),
  radio_buttons: (block, element, context, act) => choices(block, element, context, "radio", (value, node) => act(value, node)),
  checkboxes: (block, element, context, act) => choices(block, element, context, "checkbox", (value, node) => act(value, node)),
  datepicker: (block, element, context, act) => field(block, element, context, { type: "date" }, (value, node) => act(value, node)),
};

function drawButton(block, element, context, act) {
  const button = el("button", {
    type: "button", class: `button ${element.style ?? ""}`, "aria-label": element.accessibility_label,
    onclick: () => act(element.value, button),
  }, textObject(element.text));
  if (!element.url) return button;
  button.title = element.url;
  return button;
}

function drawOverflow(block, element, context, act) {
  const list = el("select", { class: "overflow", "aria-label": "More actions" }, el("option", { value: "" }, "⋯"),
    options(element).map((option) => el("option", { value: option.value }, option.text.text)));
  list.addEventListener("change", () => { if (list.value) act(list.value, list); list.value = ""; });
  return list;
}

export function options(element) {
  return [...(element.options ?? []), ...(element.option_groups ?? []).flatMap((group) => group.options ?? [])];
}

function select(block, element, context, onpick) {
  const held = context.held(block, element) ?? "";
  const make = (option) => el("option", { value: option.value, selected: option.value === held }, option.text.text);
  const groups = element.option_groups?.map((group) => el("optgroup", { label: group.label?.text ?? "" }, group.options.map(make)));
  const list = el("select", { "aria-label": element.placeholder?.text },
    el("option", { value: "" }, element.placeholder?.text ?? "Choose…"), groups ?? (element.options ?? []).map(make));
  list.addEventListener("change", () => { context.typed(block, element, list.value); onpick?.(list.value, list); });
  return list;
}

function choices(block, element, context, type, onpick) {
  const many = type === "checkbox";
  const held = context.held(block, element) ?? (many ? [] : "");
  const long = element.type === "multi_static_select";
  const set = el("fieldset", { class: long ? "choices many" : "choices" }, long && el("small", { class: "muted" }, element.placeholder?.text));
  const name = `${block.block_id}.${element.action_id}.${Math.random()}`;
  for (const option of options(element)) {
    const checked = many ? held.includes(option.value) : held === option.value;
    const box = el("input", { type, name, value: option.value, checked });
    set.append(el("label", { class: "choice" }, box, el("span", {}, textObject(option.text),
      option.description && el("small", {}, textObject(option.description)))));
  }
  const limit = () => {
    const boxes = [...set.querySelectorAll("input")];
    const full = many && boxes.filter((box) => box.checked).length >= (element.max_selected_items ?? Infinity);
    for (const box of boxes) box.disabled = full && !box.checked;
  };
  limit();
  set.addEventListener("change", () => {
    limit();
    const ticked = [...set.querySelectorAll("input:checked")].map((box) => box.value);
    const value = many ? ticked : ticked[0] ?? "";
    context.typed(block, element, value);
    onpick?.(value, set);
  });
  return set;
}

function field(block, element, context, props, onenter) {
  const tag = props.multiline ? "textarea" : "input";
  const node = el(tag, { ...props, multiline: null, placeholder: element.placeholder?.text, value: context.held(block, element) ?? "" });
  node.addEventListener("input", () => context.typed(block, element, node.value));
  node.addEventListener(props.type === "date" ? "change" : "keydown", (event) => {
    if (onenter && (event.type === "change" || (event.key === "Enter" && !props.multiline))) onenter(node.value, node);
  });
  return node;
}

const INPUTS = {
  plain_text_input: (b, e, c, act) => field(b, e, c, { type: "text", multiline: e.multiline, rows: 5, maxlength: e.max_length ?? 3000 }, act),
  number_input: (b, e, c, act) => field(b, e, c, { type: "text", inputmode: e.is_decimal_allowed ? "decimal" : "numeric", autocomplete: "off" }, act),
  email_text_input: (b, e, c, act) => field(b, e, c, { type: "text", inputmode: "email", autocomplete: "off" }, act),
  url_text_input: (b, e, c, act) => field(b, e, c, { type: "text", inputmode: "url", autocomplete: "off" }, act),
  datepicker: (b, e, c, act) => field(b, e, c, { type: "date" }, act),
  static_select: select,
  multi_static_select: (b, e, c, act) => choices(b, e, c, "checkbox", act),
  radio_buttons: (b, e, c, act) => choices(b, e, c, "radio", act),
  checkboxes: (b, e, c, act) => choices(b, e, c, "checkbox", act),
};

let fields = 0;

function drawInput(block, context) {
  const draw = INPUTS[block.element.type];
  if (!draw) return el("div", {}, unknown(block.element.type));
  const act = block.dispatch_action ? (value, node) => context.act(block, block.element, value, node) : undefined;
  const control = draw(block, block.element, context, act);
  const id = `field-${++fields}`;
  const error = context.errors?.[block.block_id];
  control.id = id;
  control.dataset.actionId = block.element.action_id;
  if (!block.optional) control.setAttribute("aria-required", "true");
  if (error) control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-describedby", `${id}-hint ${id}-error`);
  const label = control.matches("fieldset")
    ? el("legend", { class: "label" }, labelText(block)) : el("label", { class: "label", for: id }, labelText(block));
  if (control.matches("fieldset")) control.prepend(label);
  return el("div", { class: "b-input" }, !control.matches("fieldset") && label, control,
    el("p", { id: `${id}-error`, class: "error", role: error ? "alert" : null }, error && [icon("close"), error]),
    block.hint && el("p", { id: `${id}-hint`, class: "hint" }, textObject(block.hint)));
}

function labelText(block) { return [textObject(block.label), block.optional && el("span", { class: "muted" }, " (optional)")]; }
