// `/` search, `f` filter of the list, `j` `k` rows, `o` opens the row in place, `x` selects it, `s` `r` act on what is
// selected, `m` the row's menu, `p` pause, `?` help. Enter follows the row's own link.
import { toggleFocused } from "./rows.js";

const LINKS = "tbody th a, tbody th summary, .cards h2 a, .node-squares a, .hits li > a";

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
      "/": () => document.getElementById("search")?.focus(),
      f: () => document.getElementById("q")?.focus(),
      "?": () => help?.showModal(),
      j: () => step(1),
      k: () => step(-1),
      o: toggleFocused,
      x: () => select(false),
      X: () => select(true),
      s: () => actOnSelected("suspend"),
      r: () => actOnSelected("resume"),
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

// Opens what the button of the selection opens: nothing is sent before the confirmation.
function actOnSelected(verb) {
  const button = document.getElementById(`pick-${verb}`);
  if (button && !button.hidden && document.querySelector("input[name=target]:checked")) button.click();
}

function step(by) {
  const links = [...document.querySelectorAll(LINKS)];
  const row = document.activeElement?.closest("tr, section");
  // A panel may have many links: where the focus is goes before what it is in.
  const exact = links.indexOf(document.activeElement);
  const here = exact >= 0 ? exact : links.findIndex((link) => row?.contains(link));
  const next = here < 0 ? (by > 0 ? 0 : links.length - 1) : here + by;
  links[next]?.focus();
}
