// Loaded before the page is drawn, so that neither a remembered theme nor the frame of the login page flashes.
(() => {
  if (location.pathname === "/login") document.documentElement.dataset.page = "login";
  try {
    const theme = localStorage.getItem("aquifer.theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage is disabled: the theme of the system applies.
  }
})();
