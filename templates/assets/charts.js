// Charts: tooltips that the keyboard reaches, zoom, and what the search finds in them. All of it is drawn already.
(() => {
  const { $, $$, announce, make } = shapelog;
  const [MOST, STEP, WIDEST] = [64, 1.5, 60000];

  // One tooltip for all, above or below what it is about.
  const tip = make("div", undefined, "tip");
  tip.setAttribute("aria-hidden", "true"); // the same text is the accessible name
  tip.hidden = true;
  document.body.append(tip);
  // Of an SVG element its rectangle: the texts in it may be wider.
  const boxOf = (element) => ($("rect", element) || element).getBoundingClientRect();
  const hide = () => { tip.hidden = true; };
  const show = (element, x) => {
    const [first, ...rest] = element.dataset.tip.split("\n");
    tip.replaceChildren(make("b", first), rest.join("\n"));
    tip.hidden = false;
    const [box, own] = [boxOf(element), tip.getBoundingClientRect()];
    const middle = x ?? Math.max(box.left, 0) + Math.min(box.width, innerWidth) / 2;
    const left = Math.min(Math.max(8, middle - own.width / 2), innerWidth - own.width - 8);
    const below = box.bottom + 8 + own.height < innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below ? box.bottom + 8 : Math.max(8, box.top - own.height - 8)}px`;
  };
  const named = (element, text) => { if (!element.hasAttribute("aria-label")) element.setAttribute("aria-label", text.replace(/\n/g, ", ")); };

  const middleOf = (item) => { const box = boxOf(item); return box.left + box.width / 2; };

  // Texts of tooltips; every bar or box, the lines of which are given, can have the focus, by arrow keys.
  const explore = (figure, lineOf) => {
    $$("title", figure).forEach((title) => {
      const owner = title.parentElement;
      owner.dataset.tip = title.textContent;
      const link = owner.closest("a");
      if (link) named(link, title.textContent);
      else if (owner.matches(".level svg")) { owner.setAttribute("role", "button"); named(owner, `${title.textContent}, zoom in`); }
      title.remove();
    });
    $$(".name[title]", figure).forEach((name) => { name.dataset.tip = name.title; name.removeAttribute("title"); });
    const grid = lineOf().filter((items) => items.length);
    grid.flat().forEach((item, place) => item.setAttribute("tabindex", place ? "-1" : "0"));
    const nearest = (items, x) => items.reduce((best, item) => (Math.abs(middleOf(item) - x) < Math.abs(middleOf(best) - x) ? item : best), items[0]);
    const moved = (item, key) => {
      const row = grid.findIndex((items) => items.includes(item));
      const column = grid[row].indexOf(item);
      if (key === "ArrowLeft") return grid[row][column - 1];
      if (key === "ArrowRight") return grid[row][column + 1];
      if (key === "Home") return grid[row][0];
      if (key === "End") return grid[row].at(-1);
      const other = grid[row + (key === "ArrowUp" ? -1 : 1)];
      return other && nearest(other, middleOf(item));
    };
    const stopAt = (item) => { grid.flat().forEach((other) => { if (other.tabIndex === 0) other.setAttribute("tabindex", "-1"); }); item.setAttribute("tabindex", "0"); };
    // Where the keyboard is, the tooltip stays: to focus a bar may scroll to it.
    const focused = () => { const at = document.activeElement; return figure.contains(at) && at.matches(":focus-visible") ? at.closest("[data-tip]") || $("[data-tip]", at) : null; };
    figure.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !/^(Arrow|Home|End)/.test(event.key)) return;
      const item = grid.flat().find((other) => other === event.target);
      const next = item && moved(item, event.key);
      if (next) { stopAt(next); next.focus(); }
      if (item) event.preventDefault();
    });
    figure.addEventListener("mouseover", (event) => { const about = event.target.closest("[data-tip]"); if (about && !event.buttons) show(about, event.clientX); else hide(); });
    figure.addEventListener("mouseleave", hide);
    figure.addEventListener("focusin", (event) => {
      if (!event.target.matches(":focus-visible")) return;
      const about = focused();
      if (about) show(about); else hide();
    });
    figure.addEventListener("focusout", hide);
    return { grid, focused };
  };

  const prepare = (figure) => {
    const [lanes, rows] = [$(".lanes", figure), $(".rows", figure)];
    const content = lanes || rows;
    const chart = lanes ? "timeline" : "icicle";
    const { grid, focused } = explore(figure, () => $$(lanes ? ".lane" : ".level", figure).map((row) => $$(lanes ? "a" : ":scope > a, :scope > svg", row)));

    // The box that scrolls sideways; the page may have one already.
    let scroller = content.parentElement.closest(".scroll");
    if (!scroller) {
      scroller = make("div");
      scroller.setAttribute("role", "region");
      scroller.setAttribute("aria-label", figure.dataset.label || "Compile time by call stack");
      content.replaceWith(scroller);
      scroller.append(content);
    }
    scroller.classList.add("zoomer");

    let zoom = 1;
    let base = null; // the widths of the names and of the rest without zoom
    const bars = $$("rect[data-at]", figure).map((bar) => {
      const [left, width] = bar.dataset.at.split(" ").map(Number);
      return { bar, left, width, x: Number.parseFloat(bar.getAttribute("x")), shown: Number.parseFloat(bar.getAttribute("width")) };
    });
    const measure = () => {
      const names = lanes ? Number.parseFloat(getComputedStyle($(".backdrop", lanes)).marginLeft) : 0;
      const width = content.getBoundingClientRect().width;
      base = { names, rest: width - names };
    };
    const bar = make("div", undefined, "zoom");
    const button = (text, label, by) => {
      const found = make("button", text);
      found.type = "button";
      found.setAttribute("aria-label", label);
      found.addEventListener("click", () => zoomTo(by ? zoom * by : 1));
      return found;
    };
    const shown = make("output", "100 %");
    const hits = make("span", "", "hits");
    const reset = button("Reset", `Whole ${chart}`, 0);
    bar.append(button("−", `Zoom out of the ${chart}`, 1 / STEP), shown, button("+", `Zoom into the ${chart}`, STEP), reset,
      make("span", lanes ? "Ctrl and wheel or + and − zoom, dragging moves, arrow keys go from bar to bar" : "a click on a call zooms to it; Ctrl and wheel or + and − zoom, arrow keys go from box to box", "hint"), hits);
    scroller.before(bar);
    const place = () => {
      if (!lanes) keepLabels();
    };
    // The bar that the keyboard was at last, where it is in sight, else the middle: what the buttons and keys zoom around.
    let last = null;
    figure.addEventListener("focusin", (event) => { if (grid.flat().includes(event.target)) last = event.target; });
    const around = () => {
      const at = last ? middleOf(last) - scroller.getBoundingClientRect().left : -1;
      return at >= 0 && at <= scroller.clientWidth ? at : scroller.clientWidth / 2;
    };
    // Zooms so that the moment under ``at``, in pixels from the left edge of the scroller, stays where it is.
    function zoomTo(wanted, at = around()) {
      if (!base) measure();
      const next = Math.min(MOST, WIDEST / base.rest, Math.max(1, wanted));
      const before = (scroller.scrollLeft + at - base.names) / (base.rest * zoom);
      zoom = next;
      const is = zoom > 1.001;
      figure.classList.toggle("zoomed", is);
      content.style.width = is ? `${base.names + base.rest * zoom}px` : "";
      if (lanes) lanes.style.setProperty("--names", is ? `${base.names}px` : "");
      if (!is) { if (lanes) lanes.style.removeProperty("--names"); base = null; zoom = 1; } else scroller.scrollLeft = base.names + before * base.rest * zoom - at;
      bars.forEach((item) => {
        item.bar.setAttribute("x", `${item.left + (item.x - item.left) / zoom}%`);
        item.bar.setAttribute("width", `${Math.max(item.width, item.shown / zoom)}%`);
      });
      shown.textContent = `${Math.round(100 * zoom)} %`;
      reset.disabled = !is;
      hide();
      place();
    }
    reset.disabled = true;
    const zoomInto = (left, width) => {
      if (!base) measure();
      const goal = Math.min(MOST, 100 / width);
      zoomTo(goal);
      scroller.scrollLeft = base ? base.names + (left / 100) * base.rest * zoom - base.names : 0;
      place();
    };

    // Labels of the icicle stay in sight, and boxes that become wide enough get theirs.
    const boxes = lanes ? [] : $$(".level svg[data-tip]", figure).map((box) => ({ box, text: $("text", box), left: Number.parseFloat(box.getAttribute("x")), width: Number.parseFloat(box.getAttribute("width")) }));
    const SVG = "http://www.w3.org/2000/svg";
    const keepLabels = () => {
      const whole = content.getBoundingClientRect().width;
      boxes.forEach((item) => {
        const [left, width] = [(item.left / 100) * whole, (item.width / 100) * whole];
        if (!item.text && width > 40) {
          item.text = document.createElementNS(SVG, "text");
          item.text.setAttribute("y", "17");
          item.text.textContent = item.box.dataset.tip.split("\n")[0];
          item.box.append(item.text);
        }
        if (item.text) item.text.setAttribute("x", String(7 + Math.min(Math.max(0, scroller.scrollLeft - left), Math.max(0, width - 60))));
      });
    };
    scroller.addEventListener("scroll", () => {
      const about = tip.hidden ? null : focused();
      if (about) show(about); else hide();
      if (zoom > 1) place();
    }, { passive: true });
    addEventListener("resize", () => { if (zoom > 1) zoomTo(1); });

    scroller.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoomTo(zoom * Math.exp(-event.deltaY / 250), event.clientX - scroller.getBoundingClientRect().left);
    }, { passive: false });
    let pinch = 0;
    const spread = (touches) => Math.hypot(touches[0].clientX - touches[1].clientX, touches[0].clientY - touches[1].clientY);
    scroller.addEventListener("touchstart", (event) => { pinch = event.touches.length === 2 ? spread(event.touches) / zoom : 0; }, { passive: true });
    scroller.addEventListener("touchmove", (event) => {
      if (event.touches.length !== 2 || !pinch) return;
      event.preventDefault();
      zoomTo(spread(event.touches) / pinch, (event.touches[0].clientX + event.touches[1].clientX) / 2 - scroller.getBoundingClientRect().left);
    }, { passive: false });
    let drag = null;
    scroller.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse" && event.button === 0 && zoom > 1) drag = { x: event.clientX, left: scroller.scrollLeft, moved: false }; });
    addEventListener("pointermove", (event) => {
      if (!drag) return;
      if (Math.abs(event.clientX - drag.x) > 4) { drag.moved = true; scroller.classList.add("dragged"); hide(); }
      if (drag.moved) scroller.scrollLeft = drag.left + drag.x - event.clientX;
    });
    addEventListener("pointerup", () => { if (drag) { setTimeout(() => scroller.classList.remove("dragged")); drag = drag.moved ? null : drag; setTimeout(() => { drag = null; }); } });
    scroller.addEventListener("dragstart", (event) => event.preventDefault());

    // A box that is no link zooms to its calls.
    const enter = (box) => { zoomInto(Number.parseFloat(box.getAttribute("x")), Number.parseFloat(box.getAttribute("width"))); announce(`Zoomed to ${box.dataset.tip.split("\n")[0]}`); };
    figure.addEventListener("click", (event) => {
      const box = event.target.closest(".level svg[role='button']");
      if (box && !scroller.classList.contains("dragged")) enter(box);
    });
    figure.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const item = grid.flat().find((other) => other === event.target);
      if (event.key === "+" || event.key === "=") zoomTo(zoom * STEP);
      else if (event.key === "-") zoomTo(zoom / STEP);
      else if (event.key === "0") zoomTo(1);
      else if (event.key === "Escape") hide();
      else if (item && (event.key === "Enter" || event.key === " ") && item.getAttribute("role") === "button") enter(item);
      else return;
      event.preventDefault();
    });

    // What the search finds is in full color, the rest faint.
    const items = $$(".lane a[data-tip], .level svg[data-tip]", figure).map((item) => {
      const lane = item.closest("li");
      return { item, text: `${item.dataset.tip} ${lane ? $(".name", lane).textContent : ""}`.toLowerCase() };
    });
    document.addEventListener("shapelog:search", ({ detail: words }) => {
      const found = items.filter(({ item, text }) => { const is = words.length > 0 && words.every((word) => text.includes(word)); item.classList.toggle("hit", is); return is; });
      figure.classList.toggle("searching", found.length > 0);
      hits.textContent = found.length ? `${found.length} of ${items.length} found` : "";
      if (zoom > 1 && found.length) scroller.scrollLeft += middleOf(found[0].item) - scroller.getBoundingClientRect().left - scroller.clientWidth / 2;
    });
  };
  $$("figure.timeline, figure.icicle").forEach(prepare);
  $$("figure.trend-chart").forEach((figure) => explore(figure, () => [$$("a", figure)]));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  window.addEventListener("hashchange", hide);
})();
