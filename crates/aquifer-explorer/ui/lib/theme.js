// Loaded before the page is drawn, so that a remembered theme does not flash.
(() => {
  try {
    const theme = localStorage.getItem("aquifer.theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage is disabled: the theme of the system applies.
  }
})();
