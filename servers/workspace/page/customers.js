// The customers' side: their inbox, a box to write a ticket, and the shop's books. Draws what the shop and the mail folder say.

import { el, replace } from "./dom.js";
import { get, post, state } from "./store.js";

const BOOKED = 12;
let parts = null;
let seen = null;

export function drawCustomers(pane) {
  if (!parts) parts = build(pane);
  refresh();
}

export async function refresh() {
  if (!parts) return;
  const [inbox, refunds] = await Promise.all([get("/page/inbox"), get("/page/refunds")]);
  drawInbox(inbox);
  drawBooks(refunds);
}

function build(pane) {
  const made = { inbox: el("div", { class: "mails" }), books: el("div"), form: el("form", { class: "letter" }), told: el("p", { class: "told", role: "status" }) };
  replace(pane,
    el("div", { class: "pane-head" }, el("h1", {}, "Customers’ side"), el("p", { class: "muted" }, "What the shop’s customers write and receive. Nothing here is Slack.")),
    el("div", { class: "customers" },
      el("section", { class: "sheet", "aria-label": "Inbox" }, el("h2", {}, "Inbox"), made.inbox),
      el("div", { class: "column" },
        el("section", { class: "sheet", "aria-label": "Write to the shop" }, el("h2", {}, "Write to the shop"), made.form, made.told),
        el("section", { class: "sheet", "aria-label": "The shop's books" }, el("h2", {}, "The shop’s books"), made.books))));
  fillForm(made);
  return made;
}

async function fillForm(made) {
  const answer = await get("/page/customers");
  if (!answer.ok) { replace(made.form, el("p", { class: "muted" }, answer.detail)); return; }
  const who = el("select", { id: "letter-from", name: "from" }, answer.customers.map((one, at) => el("option", { value: at }, `${one.name} <${one.email}>`)));
  const subject = el("input", { id: "letter-subject", type: "text", maxlength: 200, placeholder: "My order has not arrived" });
  const body = el("textarea", { id: "letter-body", rows: 5, maxlength: 5000, placeholder: "Write the way customers write." });
  const button = el("button", { type: "submit", class: "button primary" }, "Send to the shop");
  const row = (id, words, node) => [el("label", { for: id, class: "label" }, words), node];
  replace(made.form, row("letter-from", "From", who), row("letter-subject", "Subject", subject), row("letter-body", "Message", body), button);
  made.form.onsubmit = async (event) => {
    event.preventDefault();
    const customer = answer.customers[Number(who.value)];
    button.disabled = true;
    const { name, email, language } = customer;
    const sent = await post("/page/ticket", { name, email, language, subject: subject.value, body: body.value });
    button.disabled = false;
    made.told.classList.toggle("error", !sent.ok);
    made.told.textContent = sent.ok ? `Sent as ticket ${sent.ticket.id}. It will appear in the channel.` : sent.detail;
    if (sent.ok) { subject.value = ""; body.value = ""; }
  };
}

function drawInbox(inbox) {
  if (!inbox.configured) return void replace(parts.inbox, el("p", { class: "muted" }, "No mail folder is connected; start the workspace with --mail DIR."));
  if (!inbox.mails.length) return void replace(parts.inbox, el("p", { class: "muted" }, "No reply has been sent yet. Sign off a draft in the channel and it arrives here."));
  const fresh = (mail) => seen && !seen.has(mail.receipt);
  replace(parts.inbox, inbox.mails.map((mail) => el("article", { class: `mail ${fresh(mail) ? "fresh" : ""}`, "data-receipt": mail.receipt, "data-ticket-id": mail.ticket_id },
    el("header", {}, el("b", {}, mail.subject), el("span", { class: "muted" }, when(mail.sent_at))),
    el("p", { class: "muted" }, `${mail.from} → ${mail.to} · ${mail.ticket_id} · receipt ${mail.receipt}`),
    el("div", { class: "mail-body" }, mail.body))));
  seen = new Set(inbox.mails.map((mail) => mail.receipt));
  return undefined;
}

function drawBooks(answer) {
  if (!answer.ok) return void replace(parts.books, el("p", { class: "muted" }, answer.detail));
  if (!answer.refunds.length) return void replace(parts.books, el("p", { class: "muted" }, "No refund has been issued."));
  const newest = [...answer.refunds].sort((one, two) => (one.refund_id < two.refund_id ? 1 : -1));
  const row = (one) => el("tr", { "data-refund-id": one.refund_id }, el("td", {}, one.refund_id), el("td", {}, one.order_id),
    el("td", { class: "amount" }, `${Number(one.amount).toFixed(2)} ${one.currency ?? "EUR"}`), el("td", {}, el("span", { class: `chip ${one.status}` }, one.status)));
  replace(parts.books, el("table", {}, el("thead", {}, el("tr", {}, ["Refund", "Order", "Amount", "Status"].map((word) => el("th", { scope: "col" }, word)))),
    el("tbody", {}, newest.slice(0, BOOKED).map(row))),
  newest.length > BOOKED && el("p", { class: "muted" }, `and ${newest.length - BOOKED} older`));
  return undefined;
}

function when(stamp) {
  const date = new Date(stamp);
  return Number.isNaN(date.getTime()) ? String(stamp ?? "") : date.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

export function configured() { return state.beyond.mail || state.beyond.shop; }
