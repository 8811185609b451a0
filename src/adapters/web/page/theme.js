// Runs before the first paint (see index.html), so that a person who chose dark never sees a white
// flash. Without a choice the system preference applies.
(function () {
  try {
    var theme = localStorage.getItem('ship.theme');
    if (theme === 'light' || theme === 'dark') {
      document.documentElement.dataset.theme = theme;
    }
  } catch (_) {
    // Storage can be blocked; then the system preference applies.
  }
})();
