// Moves and zooms a drawing: by buttons, keys, wheel and dragging.
import { h } from "/lib/dom.js";

const [MIN_SCALE, MAX_SCALE] = [0.1, 3];
const MARGIN = 24;
const STEP = 80;
const DRAG_THRESHOLD = 4;

/**
 * Frames `drawing`, an <svg> whose content has the given size. `start` is a place to begin at.
 * Returns `{element, reveal(place), stop()}`.
 */
export function createViewport(drawing, size, start) {
  const view = { x: 0, y: 0, scale: 1 };
  const frame = h("div", { class: "viewport", tabindex: "0", role: "group", "aria-label": "Diagram. Arrow keys move it, plus and minus zoom, 0 fits it." }, drawing);
  const extent = () => [frame.clientWidth || 1, frame.clientHeight || 1];

  function apply() {
    const [width, height] = extent();
    view.x = clamp(view.x, -width / view.scale + MARGIN, size.width - MARGIN);
    view.y = clamp(view.y, -height / view.scale + MARGIN, size.height - MARGIN);
    drawing.setAttribute("viewBox", `${view.x} ${view.y} ${width / view.scale} ${height / view.scale}`);
  }

  function center(x, y) {
    const [width, height] = extent();
    view.x = x - width / view.scale / 2;
    view.y = y - height / view.scale / 2;
    apply();
  }

  function fit(minScale = MIN_SCALE) {
    const [width, height] = extent();
    const wanted = Math.min(width / (size.width + 2 * MARGIN), height / (size.height + 2 * MARGIN), 1);
    view.scale = clamp(wanted, minScale, MAX_SCALE);
    center(size.width / 2, size.height / 2);
  }

  /** Zooms; the point (x, y) of the frame stays where it is. */
  function zoom(factor, x = extent()[0] / 2, y = extent()[1] / 2) {
    const scale = clamp(view.scale * factor, MIN_SCALE, MAX_SCALE);
    view.x += x / view.scale - x / scale;
    view.y += y / view.scale - y / scale;
    view.scale = scale;
    apply();
  }

  function pan(right, down) {
    view.x += right / view.scale;
    view.y += down / view.scale;
    apply();
  }

  function reveal(place) {
    const [width, height] = extent().map((length) => length / view.scale);
    const isInside = place.x >= view.x && place.y >= view.y && place.x + place.width <= view.x + width && place.y + place.height <= view.y + height;
    if (!isInside) center(place.x + place.width / 2, place.y + place.height / 2);
  }

  const actions = {
    ArrowLeft: () => pan(-STEP, 0), ArrowRight: () => pan(STEP, 0), ArrowUp: () => pan(0, -STEP), ArrowDown: () => pan(0, STEP),
    "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: () => fit(),
  };

  frame.addEventListener("keydown", (event) => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? null : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  // Without Ctrl, the wheel scrolls the page, unless the diagram has the focus.
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !frame.contains(document.activeElement)) return;
    event.preventDefault();
    const box = frame.getBoundingClientRect();
    zoom(Math.exp(-clamp(event.deltaY, -100, 100) / 400), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  enableDragging(frame, pan);

  let known = null;
  const observer = new ResizeObserver(() => {
    if (frame.clientWidth === 0) return;
    const now = extent();
    // What is in the middle stays there.
    if (known) pan((known[0] - now[0]) / 2, (known[1] - now[1]) / 2);
    known = now;
  });
  observer.observe(frame);
  requestAnimationFrame(() => {
    // Text stays legible at first, even if not everything fits.
    fit(0.55);
    if (start) reveal(start);
  });
  return { element: h("div", { class: "viewport-frame" }, controls(actions), frame), reveal, stop: () => observer.disconnect() };
}

const clamp = (value, least, most) => Math.min(Math.max(value, least), Math.max(least, most));

function controls(actions) {
  const buttons = [["+", "Zoom in", "+"], ["−", "Zoom out", "-"], ["Fit", "Fit the whole diagram", "0"],
    ["←", "Move left", "ArrowLeft"], ["↑", "Move up", "ArrowUp"], ["↓", "Move down", "ArrowDown"], ["→", "Move right", "ArrowRight"]];
  return h("div", { class: "toolbar viewport-controls", role: "group", "aria-label": "Move and zoom the diagram" },
    buttons.map(([label, name, key]) => h("button", { type: "button", class: "button small", "aria-label": name, title: name, on: { click: actions[key] } }, label)));
}

function enableDragging(frame, pan) {
  let last = null;
  let isDragging = false;
  frame.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    [last, isDragging] = [[event.clientX, event.clientY], false];
  });
  frame.addEventListener("pointermove", (event) => {
    if (!last || (event.buttons & 1) === 0) return;
    const [right, down] = [last[0] - event.clientX, last[1] - event.clientY];
    if (!isDragging && Math.hypot(right, down) < DRAG_THRESHOLD) return;
    if (!isDragging) frame.setPointerCapture(event.pointerId);
    isDragging = true;
    last = [event.clientX, event.clientY];
    pan(right, down);
  });
  for (const type of ["pointerup", "pointercancel"]) frame.addEventListener(type, () => (last = null));
  // The end of a drag is not a click on the table under the pointer.
  frame.addEventListener("click", (event) => {
    if (!isDragging) return;
    isDragging = false;
    event.preventDefault();
    event.stopPropagation();
  }, { capture: true });
  frame.addEventListener("dragstart", (event) => event.preventDefault());
}
