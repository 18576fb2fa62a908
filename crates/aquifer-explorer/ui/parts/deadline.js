// Times that count down, and ages that grow, in text. The clock of the server decides, not the one of this machine.
import { h } from "/lib/dom.js";
import { age } from "/lib/format.js";

const SOON = 60000;
let offset = 0;

/** Remembers how the server's clock differs from this one, from the `now` of an answer. */
export function setServerTime(now) {
  const difference = new Date(now).getTime() - Date.now();
  if (Number.isFinite(difference)) offset = difference;
}

/** The time of the server, in milliseconds. */
export const serverTime = () => Date.now() + offset;

/** Milliseconds → "1 h 05 min", "4 min 09 s", "12 s" */
export function remaining(millis) {
  const seconds = Math.max(0, Math.ceil(millis / 1000));
  const two = (value) => String(value).padStart(2, "0");
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} min`;
  if (seconds >= 60) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${seconds} s`;
}

/** A <time> that `startCountdown` keeps up to date. */
export function deadline(expiresAt) {
  const element = h("time", { class: "deadline", datetime: expiresAt, "data-deadline": expiresAt });
  showRemaining(element);
  return element;
}

/** A <time> that says how long ago something was; `startCountdown` keeps it up to date. */
export function ago(time) {
  const element = h("time", { datetime: time, "data-age": time });
  showAge(element);
  return element;
}

function showAge(element) {
  const words = age(element.dataset.age, serverTime());
  if (element.textContent !== words) element.textContent = words;
}

/**
 * Updates every deadline and age in `root` once a second. `onEnd(element)` runs once for each that passes.
 * Returns a function that ends it.
 */
export function startCountdown(root, onEnd) {
  const ended = new WeakSet();
  const timer = setInterval(() => {
    root.querySelectorAll("[data-age]").forEach(showAge);
    for (const element of root.querySelectorAll("[data-deadline]")) {
      if (showRemaining(element) > 0 || ended.has(element)) continue;
      ended.add(element);
      onEnd?.(element);
    }
  }, 1000);
  return () => clearInterval(timer);
}

function showRemaining(element) {
  const left = new Date(element.dataset.deadline).getTime() - serverTime();
  const words = left > 0 ? `${remaining(left)} left` : "expired";
  if (element.textContent !== words) element.textContent = words;
  element.classList.toggle("soon", left <= SOON);
  return left;
}
