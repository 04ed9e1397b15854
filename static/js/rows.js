// A row of the Board opens in place. What is below it is asked for then, and anew with news of the row.
const below = (row) => document.getElementById(`below-${row.id}`);

export function startRows() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-opens]");
    if (button) toggle(button);
  });
  // What was asked for in the dialog has changed the buttons.
  document.getElementById("act")?.addEventListener("close", () => readAgain(document.querySelectorAll("#gangs > tr")));
}

// Opens or closes the row that has the focus, or the one above the focus.
export function toggleFocused() {
  const here = document.activeElement?.closest("#gangs > tr");
  const row = here?.dataset.of ? document.getElementById(here.dataset.of) : here;
  const button = row?.querySelector("[data-opens]");
  if (!button) return;
  if (here !== row) button.focus();
  toggle(button);
}

function toggle(button) {
  const row = button.closest("tr");
  const opened = below(row);
  button.setAttribute("aria-expanded", String(!opened));
  if (opened) {
    opened.remove();
    return;
  }
  const made = document.getElementById("opened-row").content.firstElementChild.cloneNode(true);
  made.id = `below-${row.id}`;
  made.dataset.of = row.id;
  made.setAttribute("hx-get", button.dataset.opens);
  made.cells[0].colSpan = [...row.cells].filter((cell) => getComputedStyle(cell).display !== "none").length;
  row.after(made);
  htmx.process(made);
}

export function readAgain(rows) {
  for (const row of rows) if (row && below(row)) htmx.trigger(below(row), "again");
}

// Takes what is below rows out of a list that is put in order; returns what puts it back.
export function takeOpened(list) {
  const opened = [...list.children].filter((row) => row.dataset.of);
  for (const one of opened) one.remove();
  return () => {
    for (const one of opened) document.getElementById(one.dataset.of)?.after(one);
  };
}
