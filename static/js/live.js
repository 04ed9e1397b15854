// The waiting request: asks again after each answer, puts news into the page without moving
// what is the same, and says loudly when the server does not answer.
import { readAgain, takeOpened } from "./rows.js";
import { isToldWhenHidden } from "./tell.js";
import { clockText } from "./zone.js";

const ASK_AGAIN = 50; // milliseconds, and up to SPREAD more: all pages hear of a change at once
const SPREAD = 250;
const SLOWEST = 10_000;
const ANNOUNCE_EVERY = 10_000;
const MOST_TOLD = 3;
// What can be scrolled by itself can have the focus: it has a tabindex.
const SCROLLABLE = "[tabindex]";
export const FOCUSABLE = `a, button, summary, input, select, textarea, ${SCROLLABLE}`;

const state = { paused: false, lostSince: null, announced: 0, news: new Map(), teller: 0 };
// What asks: the page, and a dialog that follows an action. By id: {failures, timer}.
const askers = new Map();
const asker = (id) => askers.get(id) ?? askers.set(id, { failures: 0, timer: 0 }).get(id);

const element = (id) => document.getElementById(id);

function tabId() {
  try {
    let id = sessionStorage.getItem("tab");
    if (!id) sessionStorage.setItem("tab", (id = Math.random().toString(36).slice(2)));
    return id;
  } catch {
    return Math.random().toString(36).slice(2);
  }
}

export function startLive() {
  const tab = tabId();
  htmx.defineExtension("live", {
    handleSwap: (style, target, fragment) => {
      if (style === "live") return swap(target, fragment);
      if (style !== "morph") return false;
      morph(target, fragment.firstElementChild);
      return [target];
    },
  });
  document.addEventListener("htmx:configRequest", (event) => {
    const { id } = event.detail.elt;
    // Each waits for itself: a newer request of the same name takes the place of an older one.
    event.detail.headers["X-Tab"] = id === "live" ? tab : `${tab}.${id}`;
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (isLive(event) && (isPaused(event.detail.elt) || isAway())) event.preventDefault();
  });
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    if (isLive(event) && isKept(event.detail.xhr)) event.preventDefault();
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (isLive(event)) answered(event.detail);
    // What acts says itself what went wrong, beside its button.
    else if (event.detail.failed && !isAct(event)) lost();
    else if (event.detail.successful) found();
  });
  // Other filters, and the dialog, bring an element of their own.
  document.addEventListener("htmx:load", ({ detail }) => askAll(detail.elt));
  document.addEventListener("visibilitychange", () => document.hidden || askAll(document));
  element("act")?.addEventListener("close", () => askAll(document));
  startPause();
  askAll(document);
}

// The element that asked: when it was replaced meanwhile, htmx tells the event to its parent.
const who = ({ detail }) => detail.requestConfig?.elt ?? detail.elt;
const isLive = (event) => who(event).hasAttribute("data-live");
const isAct = (event) => who(event).hasAttribute("data-act");
// A page that nobody sees asks nothing, unless somebody wants to be told of it.
const isAway = () => document.hidden && !isToldWhenHidden();
const isPaused = (live) => state.paused && live.id === "live";
// What somebody writes in the dialog is not taken away: an answer that leads to sign-in, or loads the
// page anew because it shows something that is gone, waits until the dialog is closed.
const isKept = (xhr) =>
  document.querySelector("#act[open] .act-form") !== null &&
  ["HX-Redirect", "HX-Refresh"].some((name) => xhr.getResponseHeader(name));

function answered(detail) {
  const { xhr, successful } = detail;
  const live = who({ detail });
  const asks = asker(live.id);
  if (isKept(xhr)) {
    state.lostSince ??= new Date();
    say("not live");
    ask(live.id, SLOWEST);
    return;
  }
  if (successful) {
    asks.failures = 0;
    found();
    ask(live.id, (Number(xhr.getResponseHeader("X-Live-Again")) || 0) * 1000);
    return;
  }
  if (isPaused(live) || isAway()) return;
  asks.failures += 1;
  if (asks.failures > 1) lost();
  ask(live.id, Math.min(500 * 2 ** asks.failures, SLOWEST));
}

function askAll(root) {
  for (const live of root.querySelectorAll("[data-live]")) ask(live.id, 0);
}

function ask(id, wait) {
  const asks = asker(id);
  clearTimeout(asks.timer);
  asks.timer = setTimeout(() => {
    const live = element(id);
    if (live) htmx.trigger(live, "again");
  }, wait + ASK_AGAIN + Math.random() * SPREAD);
}

function lost() {
  state.lostSince ??= new Date();
  const since = clockText(state.lostSince);
  for (const banner of document.querySelectorAll("[data-connection]")) {
    banner.textContent = `gangboard has not answered since ${since}. What you see is from before; it asks again by itself.`;
    banner.hidden = false;
  }
  say("no answer");
}

function found() {
  if (!state.lostSince) return;
  state.lostSince = null;
  for (const banner of document.querySelectorAll("[data-connection]")) banner.hidden = true;
  say(state.paused ? "paused" : "live");
}

function say(text) {
  const label = element("live-state");
  if (label && label.textContent !== text) label.textContent = text;
}

function startPause() {
  const button = element("pause");
  if (!button || !element("live")) return;
  button.closest(".live-controls").hidden = false;
  say("live");
  button.addEventListener("click", () => {
    state.paused = !state.paused;
    button.setAttribute("aria-pressed", String(state.paused));
    button.textContent = state.paused ? "Resume updates" : "Pause";
    say(state.paused ? `paused at ${clockText(new Date())}` : "live");
    if (state.paused) htmx.trigger(element("live"), "htmx:abort");
    else ask("live", 0);
  });
}

// --- putting news into the page

function swap(live, fragment) {
  // The page has moved on to other filters while this answer was on its way.
  if (!live.isConnected || isPaused(live)) return [];
  const focus = keepFocus();
  const before = healths();
  const added = [];
  for (const template of fragment.querySelectorAll("template[data-part]"))
    added.push(...replace(template));
  for (const template of fragment.querySelectorAll("template[data-rows]"))
    added.push(...putRows(template));
  const next = fragment.querySelector("[data-live]");
  live.replaceWith(next);
  focus();
  announce(before);
  return [...added, next];
}

function replace(template) {
  const old = element(template.dataset.part);
  const fresh = template.content.firstElementChild;
  if (!old || !fresh) return [];
  morph(old, fresh);
  return [element(template.dataset.part)];
}

// What is the same stays the very element, with its focus, its scroll and what is marked in it; what a
// person has opened or ticked stays so.
const OPENED = { open: "DETAILS", checked: "INPUT", "aria-expanded": "BUTTON" };
const isOn = (node, name) => node[name] === true || node.getAttribute(name) === "true";
const MORPH = {
  callbacks: {
    beforeAttributeUpdated: (name, node) => !(OPENED[name] === node.nodeName && isOn(node, name)),
  },
};
const morph = (old, fresh) => Idiomorph.morph(old, fresh, MORPH);

function putRows(template) {
  const parent = element(template.dataset.rows);
  if (!parent) return [];
  const ids = [];
  for (const row of [...template.content.children]) {
    ids.push(row.id);
    const old = element(row.id);
    if (old) morph(old, row);
    else parent.append(row);
  }
  if (template.dataset.order !== undefined) {
    const putBack = takeOpened(parent);
    order(parent, written(parent, template.dataset.order.split(" ")));
    putBack();
  }
  const rows = ids.map(element);
  readAgain(rows);
  return rows;
}

// The whole order: `…` stands for what is between the two around it, as it is here already.
function written(parent, words) {
  const here = [...parent.children].map((row) => row.id);
  const between = (before, after) => here.slice(here.indexOf(before) + 1, here.indexOf(after));
  return words.flatMap((word, at) => (word === "…" ? between(words[at - 1], words[at + 1]) : [word]));
}

function order(parent, ids) {
  const wanted = new Set(ids);
  for (const row of [...parent.children]) if (!wanted.has(row.id)) row.remove();
  let place = parent.firstElementChild;
  for (const id of ids) {
    const row = element(id);
    if (!row) continue;
    // A row that went down is taken out of the way; otherwise all after it would move.
    if (place && row === place.nextElementSibling && row !== place) {
      const down = place;
      place = row;
      parent.append(down);
    }
    if (row === place) place = row.nextElementSibling;
    else parent.insertBefore(row, place);
  }
}

function keepFocus() {
  const active = document.activeElement;
  if (!active || active === document.body) return () => {};
  const row = active.closest("[id]");
  const id = row?.id;
  const within = row && row !== active ? [...row.querySelectorAll(FOCUSABLE)].indexOf(active) : -1;
  return () => {
    if (document.activeElement === active && active.isConnected) return;
    const again = active.isConnected ? active : id && element(id);
    const target = again && within >= 0 && again !== active ? again.querySelectorAll(FOCUSABLE)[within] : again;
    target?.focus({ preventScroll: true });
  };
}

// Health words by name: what changes of these is news to who hears the page, an age or a number is not.
function healths() {
  const rows = [...document.querySelectorAll("[data-health][data-name]")];
  return new Map(rows.map(({ id, dataset }) => [id, `${dataset.name} is now ${dataset.health}`]));
}

function announce(before) {
  for (const [id, sentence] of healths())
    if (before.has(id) && before.get(id) !== sentence) state.news.set(id, sentence);
  if (!state.news.size || state.teller) return;
  const wait = state.announced + ANNOUNCE_EVERY - Date.now();
  if (wait <= 0) tell();
  // The last change must not wait for a next one.
  else state.teller = setTimeout(tell, wait);
}

function tell() {
  state.teller = 0;
  state.announced = Date.now();
  const sentences = [...state.news.values()];
  const more = sentences.length - MOST_TOLD;
  const rest = more > 0 ? [`${more} more changed`] : [];
  element("announcer").textContent = [...sentences.slice(0, MOST_TOLD), ...rest].join(", ");
  state.news.clear();
}
