// Applies the remembered theme before the page is drawn, and lets the reader change it. The explorer remembers it in the same place.
(() => {
  const root = document.documentElement;
  const key = "aquifer.theme";
  try {
    const theme = localStorage.getItem(key);
    if (theme === "dark" || theme === "light") root.dataset.theme = theme;
  } catch {
    // Storage is disabled: the theme of the system applies.
  }
  const change = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try {
      localStorage.setItem(key, root.dataset.theme);
    } catch {
      // The theme lasts until the page is closed.
    }
  };
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector(".theme");
    button.hidden = false;
    button.addEventListener("click", change);
  });
})();
