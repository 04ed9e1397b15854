// `/` search, `j` `k` rows, `o` opens the row in place, `x` selects it, `m` the row's menu, `p` pause, `?` help. Enter follows the row's own link.
import { toggleFocused } from "./rows.js";

const LINKS = "tbody th a, .cards h2 a";

export function startKeyboard() {
  const help = document.getElementById("help");
  const button = document.querySelector("[data-help]");
  if (button && help) {
    button.hidden = false;
    button.addEventListener("click", () => help.showModal());
  }
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input:not([type=checkbox]), select, textarea")) {
      if (event.key !== "Escape") return;
      // Of itself it would empty a search: whoever leaves the field wants to see what was found.
      if (event.target.type === "search") event.preventDefault();
      event.target.blur();
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    const action = {
      "/": () => document.getElementById("q")?.focus(),
      "?": () => help?.showModal(),
      j: () => step(1),
      k: () => step(-1),
      o: toggleFocused,
      x: () => select(false),
      X: () => select(true),
      m: () => document.activeElement?.closest("tr, section")?.querySelector(".menu summary, .button")?.focus(),
      p: () => document.getElementById("pause")?.click(),
    }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

// With Shift: all from the one that was selected last.
function select(shiftKey) {
  const box = document.activeElement?.closest("tr")?.querySelector("input[name=target]");
  box?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey }));
}

function step(by) {
  const links = [...document.querySelectorAll(LINKS)];
  const row = document.activeElement?.closest("tr, section");
  const here = links.findIndex((link) => link === document.activeElement || row?.contains(link));
  const next = here < 0 ? (by > 0 ? 0 : links.length - 1) : here + by;
  links[next]?.focus();
}
