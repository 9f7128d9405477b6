// What the theme adds to a page while it loads gets a name, and is reached by the keyboard.
function complete() {
  document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((element, number) => {
    element.setAttribute("aria-label", `Code ${number + 1}: copy`);
  });
  document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])").forEach((element) => {
    if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
  });
}

new MutationObserver(complete).observe(document.body, { childList: true, subtree: true });
addEventListener("resize", complete);
complete();
