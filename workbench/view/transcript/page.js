
"use strict";
(() => {
  const find = (selector, root = document) => root.querySelector(selector);
  const root = document.documentElement, search = find("#search"), count = find("#count"), keys = find("#keys");
  const entries = [...find("main").children].filter((entry) => entry.tagName !== "FIGURE");
  const steps = entries.filter((entry) => entry.tagName === "DETAILS");
  const links = new Map();
  const OPENED = 50, MARKED = 2000;
  let current = null;
  root.classList.add("js");

  const head = (entry) => find("summary, h2, p", entry);
  const titleOf = (entry) => (entry.className.startsWith("person")
    ? find("div", entry)?.textContent.trim().split("\n")[0] : head(entry).firstChild.data);

  function fillTimeline() {
    const rows = document.createDocumentFragment();
    for (const entry of entries) {
      if (!entry.matches(".action, .person")) continue;
      const row = document.createElement("a");
      row.href = entry.id ? "#" + entry.id : "#";
      row.className = entry.className;
      row.textContent = titleOf(entry);
      row.onclick = (event) => { event.preventDefault(); go(entry); };
      links.set(entry, row);
      rows.append(row);
    }
    const title = document.createElement("h2");
    title.textContent = "Timeline";
    find("#timeline").append(title, rows);
  }

  function goToHash() {
    const entry = entries.find((each) => each.id && each.id === location.hash.slice(1));
    if (!entry) return;
    // The browser would scroll back to where the page was before a reload, after this.
    history.scrollRestoration = "manual";
    if (entry.hidden) clear();
    entry.open = true;
    go(entry);
  }

  function go(entry) {
    if (!entry) return;
    links.get(current)?.classList.remove("current");
    current = entry;
    const target = head(entry);
    if (entry.tagName !== "DETAILS") target.tabIndex = -1;
    target.focus({ preventScroll: true });
    reveal(entry);
    // What was far away has only now got its real height.
    requestAnimationFrame(() => reveal(entry));
    const row = links.get(entry);
    row?.classList.add("current");
    row?.scrollIntoView({ block: "nearest" });
    if (entry.id) history.replaceState(null, "", "#" + entry.id);
  }

  function reveal(entry) {
    const isTall = entry.getBoundingClientRect().height > innerHeight / 2;
    entry.scrollIntoView({ block: isTall ? "start" : "nearest" });
  }

  const visible = (list) => list.filter((entry) => !entry.hidden);

  function move(list, by) {
    const shown = visible(list);
    if (!current) return go(by > 0 ? shown[0] : shown.at(-1));
    const order = by > 0 ? shown : shown.reverse();
    const bit = by > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING;
    go(order.find((entry) => entry !== current && current.compareDocumentPosition(entry) & bit));
  }

  function foldAll() {
    const list = visible(steps), open = list.some((step) => !step.open);
    for (const step of list) step.open = open;
    find("#fold").textContent = open ? "Collapse all" : "Expand all";
    current?.scrollIntoView({ block: "nearest" });
  }

  const texts = new Map();
  function textOf(entry) {
    if (!texts.has(entry)) texts.set(entry, entry.textContent.toLowerCase());
    return texts.get(entry);
  }

  let timer = 0;
  function filter() {
    const words = search.value.trim().toLowerCase();
    for (const entry of entries) {
      const hidden = words !== "" && !textOf(entry).includes(words);
      if (entry.hidden !== hidden) entry.hidden = hidden;
      const row = links.get(entry);
      if (row && row.hidden !== hidden) row.hidden = hidden;
    }
    const matches = visible(entries);
    count.textContent = words ? matches.length + " of " + entries.length : "";
    if (words && matches.length <= OPENED) for (const entry of matches) if (entry.tagName === "DETAILS") entry.open = true;
    mark(words, matches);
  }

  function mark(words, matches) {
    if (!CSS.highlights) return;
    CSS.highlights.delete("match");
    if (!words) return;
    const ranges = [];
    for (const entry of matches) {
      const walker = document.createTreeWalker(entry, NodeFilter.SHOW_TEXT);
      while (walker.nextNode() && ranges.length < MARKED) {
        const node = walker.currentNode, text = node.data.toLowerCase();
        if (text.length !== node.data.length) continue;
        for (let at = text.indexOf(words); at >= 0 && ranges.length < MARKED; at = text.indexOf(words, at + words.length)) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + words.length);
          ranges.push(range);
        }
      }
      if (ranges.length >= MARKED) break;
    }
    CSS.highlights.set("match", new Highlight(...ranges));
  }

  function clear() {
    search.value = "";
    search.blur();
    filter();
    current?.scrollIntoView({ block: "center" });
  }

  function goToFirstMatch() {
    // Enter may come before the search has run.
    clearTimeout(timer);
    filter();
    search.blur();
    current = null;
    move(entries, 1);
  }

  function changeTheme() {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  }

  const actions = {
    j: () => move(entries, 1), k: () => move(entries, -1),
    n: () => move(entries.filter((entry) => entry.matches(".person")), 1),
    p: () => move(entries.filter((entry) => entry.matches(".person")), -1),
    o: () => { if (current?.tagName === "DETAILS") current.open = !current.open; },
    e: foldAll, t: changeTheme, "/": () => search.select(), "?": () => keys.showModal(), Escape: clear,
  };

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
    if (event.target === search && !["Escape", "Enter"].includes(event.key)) return;
    if (event.target === search && event.key === "Enter") return goToFirstMatch();
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
    if (!action) return;
    event.preventDefault();
    action();
  });
  find("main").addEventListener("click", (event) => {
    const entry = entries.find((each) => each.contains(event.target));
    if (entry) { links.get(current)?.classList.remove("current"); current = entry; links.get(entry)?.classList.add("current"); }
  });
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(filter, 60); });
  find("#fold").addEventListener("click", foldAll);
  find("#theme").addEventListener("click", changeTheme);
  find("#help").addEventListener("click", () => keys.showModal());
  find("#close").addEventListener("click", () => keys.close());
  addEventListener("hashchange", goToHash);
  addEventListener("beforeprint", () => { for (const step of steps) step.open = true; });
  fillTimeline();
  goToHash();
})();
