// Names and focus that the theme leaves out: its search is a dialog, and wide tables scroll.
for (const dialog of document.querySelectorAll("[role=dialog]:not([aria-label])")) dialog.setAttribute("aria-label", "Search");
const focusable = () => {
  for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) wrap.tabIndex = 0;
};
new MutationObserver(focusable).observe(document.body, { childList: true, subtree: true });
focusable();
