// Light or dark: as the system says, until the switch says otherwise.
import { repaintAll } from "./chart.js";

const KEY = "slackwater-theme";

function remembered() {
  try { return localStorage.getItem(KEY); } catch { return null; }
}

export function startTheme(button) {
  let chosen = remembered();
  const system = matchMedia("(prefers-color-scheme: dark)");
  const show = () => {
    const dark = (chosen || (system.matches ? "dark" : "light")) === "dark";
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.setAttribute("aria-pressed", String(dark));
    repaintAll();
  };
  button.addEventListener("click", () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem(KEY, chosen); } catch { /* it holds for this visit only */ }
    show();
  });
  system.addEventListener("change", show);
  show();
}
