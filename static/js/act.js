// The dialog in which an action is confirmed and followed, and menus. Without it the same
// addresses are pages. Whatever goes wrong is said beside the button that was pressed.
// Of what changes nothing: whether something was accepted, a form that asks for it tells in words of its own.
import { FOCUSABLE } from "./live.js";

const UNANSWERED = "gangboard did not answer. Nothing was asked for; press again.";
const STATUS = {
  403: "gangboard refused it (403): this page is older than your session. Open the page again.",
  404: "That no longer exists (404). Open the page again.",
  409: "It was changed in the meantime (409). Open the page again.",
  429: "Too many requests (429). Wait a moment and press again.",
};

const element = (id) => document.getElementById(id);
const isAct = (elt) => elt?.hasAttribute?.("data-act");

export function startActing() {
  startMenus();
  startSelecting();
  const dialog = element("act");
  if (!dialog) return;
  const body = element("act-body");
  let opener = null; // {button, id, row}: what opened the dialog, and the id of the first selected row or of what is around
  let waiting = null; // {place, isAbsent}: where the focus is after the dialog, and whether the page lacks the button now

  document.addEventListener("htmx:beforeRequest", ({ detail }) => {
    if (!isAct(detail.elt)) return;
    if (!dialog.open) opener = openerOf(detail);
    tell(detail.elt, "");
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { detail } = event;
    if (!isAct(detail.requestConfig.elt)) return;
    // Answers of ours are shown whatever their status is; those of a proxy are not.
    if (detail.xhr.getResponseHeader("X-Act")) detail.shouldSwap = true;
  });
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    const elt = detail.requestConfig?.elt ?? detail.elt;
    if (!isAct(elt) || detail.successful || detail.xhr?.getResponseHeader?.("X-Act")) return;
    const status = detail.xhr?.status ?? 0;
    if (!status && unanswered(elt)) show(unanswered(elt));
    else tell(elt, status ? (STATUS[status] ?? failed(status)) : UNANSWERED);
  });
  document.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.target !== body) return;
    if (!dialog.open) dialog.showModal();
    startHours(body);
    (body.querySelector("[autofocus]") ?? element("act-title"))?.focus();
    dialog.scrollTop = 0;
  });
  dialog.addEventListener("close", () => {
    // What was asked for is not selected any more.
    if (body.querySelector("#asked")) document.querySelector("form#pick")?.reset();
    body.replaceChildren();
    returnFocus();
  });
  // The button may have been replaced while the dialog was open, its menu may be closed, and while its action runs
  // the page has none. The buttons for selected rows are hidden when no row is selected any more. Then the focus
  // stays in the row. It goes to a button that comes back, unless a person has moved it.
  function returnFocus() {
    const button = element(opener?.id) ?? (opener?.button.isConnected ? opener.button : null);
    // A button that is about to be hidden takes the focus, and loses it.
    const isShown = Boolean(button?.getClientRects().length);
    if (isShown) button.focus();
    if (!isShown || document.activeElement === document.body) focusWithin(element(opener?.row));
    waiting = opener && { place: document.activeElement, isAbsent: !button };
  }
  document.addEventListener("htmx:load", () => {
    if (!waiting || dialog.open) return;
    const active = document.activeElement;
    const isLost = active === document.body && !waiting.place.isConnected;
    if (active !== waiting.place && !isLost) waiting = null;
    else if (isLost || (waiting.isAbsent && element(opener.id))) returnFocus();
  });
  startHours(document);
}

function openerOf({ elt, requestConfig }) {
  const button = requestConfig?.triggeringEvent?.submitter ?? elt;
  const box = elt.elements && boxesOf(elt).find(({ checked }) => checked);
  return { button, id: button.id, row: (box ?? elt).parentElement.closest("[id]")?.id };
}

// Hidden elements take no focus.
function focusWithin(place) {
  for (const one of place?.querySelectorAll(FOCUSABLE) ?? []) {
    one.focus();
    if (document.activeElement === one) return;
  }
}

function failed(status) {
  return `gangboard failed to answer (${status}); its log has the details. Press again: the same request is not carried out twice.`;
}

const unanswered = (elt) => elt.querySelector("[data-unanswered]");

// In sight: in a long dialog it would stand below its end.
function show(place) {
  place.hidden = false;
  place.scrollIntoView({ block: "nearest" });
}

function tell(elt, text) {
  const before = unanswered(elt);
  if (before) before.hidden = true;
  const place = elt.querySelector("[data-problem]") ?? beside(elt, text);
  if (!place) return;
  place.textContent = text;
  place.hidden = !text;
  if (text) show(place);
}

function beside(elt, text) {
  const next = elt.nextElementSibling;
  if (next?.hasAttribute("data-problem")) return next;
  if (!text) return null;
  const place = document.createElement("span");
  place.className = "problem";
  place.dataset.problem = "";
  place.setAttribute("role", "alert");
  elt.after(place);
  return place;
}

// A time as the field has it, in the zone in which it is typed.
function inZone(time, timeZone) {
  const two = "2-digit";
  const form = { timeZone, hourCycle: "h23", year: "numeric", month: two, day: two, hour: two, minute: two };
  const parts = new Intl.DateTimeFormat("en-GB", form).formatToParts(time);
  const { year, month, day, hour, minute } = Object.fromEntries(parts.map(({ type, value }) => [type, value]));
  return `${year}-${month}-${day} ${hour}:${minute}`;
}

// "1 h, 4 h, 1 day" from now, by the server's clock and in the zone that the field says. Then the reason is
// next, and Enter in it asks for the action.
function startHours(root) {
  for (const hours of root.querySelectorAll("[data-hours]")) {
    const field = root.querySelector("#until");
    const now = root.querySelector("[data-server-now]");
    const zone = root.querySelector("[name=zone]").value;
    const opened = performance.now();
    hours.hidden = false;
    for (const button of hours.querySelectorAll("button"))
      button.addEventListener("click", () => {
        const then = Date.parse(now.dateTime) + performance.now() - opened + button.value * 3_600_000;
        field.value = inZone(new Date(then), zone);
        root.querySelector("#reason").focus();
      });
  }
}

// A menu closes when something else is pressed, and with Escape.
function startMenus() {
  const close = (except) => {
    for (const menu of document.querySelectorAll("details.menu[open]"))
      if (menu !== except) menu.open = false;
  };
  document.addEventListener("click", (event) => close(event.target.closest?.("details.menu")));
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && event.target.closest?.("details.menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}

// "Select all" for a list of boxes, all from one box to another with Shift, and how many are selected.
const isBox = (one) => one?.name === "target" && one.type === "checkbox";
const boxesOf = (form) => [...form.elements].filter((one) => isBox(one) && !one.disabled);

function count() {
  for (const label of document.querySelectorAll("[data-selected]")) {
    const form = label.closest("form") ?? element(label.dataset.selected);
    const checked = form ? boxesOf(form).filter((box) => box.checked) : [];
    const number = checked.length;
    const most = Number(form?.dataset.most ?? Infinity);
    const said = number > most ? `${number} selected; at most ${most} in one confirmation` : `${number} selected`;
    label.textContent = number ? said : "";
    for (const button of form?.querySelectorAll("button[data-word]") ?? []) word(button, checked);
  }
}

// A button says on how many of the selected rows it does something, and stands there only if that is one at least.
function word(button, checked) {
  const able = checked.filter((box) => box.dataset.verb === button.value).length;
  button.hidden = checked.length > 0 && !able;
  const some = able && able < checked.length ? `${able} of ${checked.length} ` : "";
  button.textContent = `${button.dataset.word} ${some}selected…`;
}

// Other filters bring other rows: what is still there stays selected, and the rest is said to be dropped.
function keepSelection() {
  let values = [];
  const isBoard = ({ detail }) => detail.target?.id === "board";
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!isBoard(event)) return;
    values = [...document.querySelectorAll("#board input[name=target]:checked")].map((box) => box.value);
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (!isBoard(event) || !values.length) return;
    const chosen = new Set(values);
    for (const box of document.querySelectorAll("#board input[name=target]"))
      if (chosen.delete(box.value)) box.checked = true;
    values = [];
    count();
    const place = element("dropped");
    if (!place || !chosen.size) return;
    place.textContent = `${chosen.size} selected ${chosen.size === 1 ? "gang is" : "gangs are"} not in this list and no longer selected`;
    place.hidden = false;
  });
}

function startSelecting() {
  let last = null;
  document.addEventListener("click", (event) => {
    const box = event.target;
    if (!isBox(box) || !box.form) return;
    const boxes = boxesOf(box.form);
    const ends = [boxes.indexOf(last), boxes.indexOf(box)].sort((a, b) => a - b);
    if (event.shiftKey && ends[0] >= 0)
      for (const one of boxes.slice(ends[0], ends[1])) one.checked = box.checked;
    last = box;
  });
  document.addEventListener("change", (event) => {
    const all = event.target.closest?.("[data-select-all]");
    if (all) for (const box of boxesOf(all.form)) box.checked = all.checked;
    count();
  });
  document.addEventListener("reset", () => setTimeout(count));
  keepSelection();
  // Rows come and go.
  document.addEventListener("htmx:load", count);
}
