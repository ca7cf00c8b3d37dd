"use strict";
// The link works once, and does not belong into the history.
history.replaceState(null, "", "/");
// Cookies are sent to every port of a host, but this storage is that of one port alone.
const key = () => localStorage.getItem("ohw-key") || "none";
window.WebSocket = class extends WebSocket {
  constructor(url) {
    super(url, ["ohw", key()]);
    let isOpen = false;
    this.addEventListener("open", () => { isOpen = true; });
    this.addEventListener("close", () => isOpen || explain());
  }
};
// The page cannot see why a connection was refused.
async function explain() {
  const answer = await fetch("/limit").catch(() => null);
  const limit = answer?.ok && await answer.text();
  document.querySelector("#reason").textContent = !answer ? "`ohw serve` does not answer."
    : limit || "This tab may not connect. Press Enter where `ohw serve` runs, and open the new link.";
}
// textual.js opens the terminal when the page has loaded; it measures the font, which has to be there by then.
const start = window.onload;
window.onload = async (event) => {
  if (document.body.dataset.key) localStorage.setItem("ohw-key", document.body.dataset.key);
  document.body.removeAttribute("data-key");
  const terminal = document.querySelector("#terminal");
  terminal.dataset.sessionWebsocketUrl = location.origin.replace(/^http/, "ws") + "/ws";
  await Promise.all(["", "bold ", "italic "].map((style) => document.fonts.load(style + "15px 'Roboto Mono'")));
  document.querySelector("#reload").addEventListener("click", () => location.reload());
  // The focus is sent to the program, so it has to wait for the connection, which textual.js marks like this.
  new MutationObserver((_, observer) => {
    if (!document.body.classList.contains("-loaded")) return;
    observer.disconnect();
    document.querySelector(".xterm-helper-textarea").focus();
  }).observe(document.body, { attributeFilter: ["class"] });
  start(event);
};
