// Filters without empty pairs in the address, the theme, copying, and forms that send themselves.
export function startForms() {
  document.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.verb !== "get") return;
    const pairs = event.detail.formData;
    for (const [name, value] of [...pairs.entries()]) if (value === "") pairs.delete(name);
  });
  for (const form of document.querySelectorAll("[data-submit-on-change]"))
    form.addEventListener("change", () => form.requestSubmit());
  startTheme();
  startCopy();
}

function startTheme() {
  const button = document.querySelector("[data-theme-toggle]");
  if (!button) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    const root = document.documentElement;
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    root.dataset.theme = (root.dataset.theme ?? system) === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // No storage: it holds for this page only.
    }
  });
}

function startCopy() {
  // Only where the browser allows it: over https and on this machine.
  if (!navigator.clipboard) return;
  const show = () => {
    for (const button of document.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
  };
  show();
  document.addEventListener("htmx:load", show);
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    button.dataset.label ??= button.textContent;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = button.dataset.label), 2000);
  });
}
