// A key presses the button or follows the link that names it, unless a field has the focus. A key that is held down counts once.
"use strict";
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || event.target.closest("input, select, textarea")) return;
  for (const element of document.querySelectorAll("[data-key]")) {
    if (element.dataset.key === event.key) {
      event.preventDefault();
      element.click();
      return;
    }
  }
});
