// Tells a person that a call waits: a desktop notification and a sound. Both are off until a button turns them on.
import { announce, h, visible } from "/lib/dom.js";
import { get } from "/lib/api.js";
import { on } from "/lib/events.js";
import { navigate } from "/lib/router.js";

const DESKTOP = "aquifer.alerts.desktop";
const SOUND = "aquifer.alerts.sound";

let audio = null;
let known = null;
let isStarted = false;

/** Watches for new approvals for as long as the document is open. Calling it again does nothing. */
export function startAlerts() {
  if (isStarted) return;
  isStarted = true;
  for (const type of ["hello", "approvals"]) on(type, check);
  for (const type of ["pointerdown", "keydown"]) addEventListener(type, unlockAudio, { once: true });
}

/** Two buttons that turn desktop notifications and the sound on and off. */
export function alertButtons() {
  return [
    toggle("Notifications", () => isOn(DESKTOP) && canNotify(), setDesktop),
    toggle("Sound", () => isOn(SOUND), setSound),
  ];
}

async function check() {
  const answer = await get("/approvals").catch(() => null);
  if (!answer) return;
  const pending = answer.approvals.filter((approval) => approval.status === "pending");
  const fresh = known && pending.filter((approval) => !known.has(approval.id));
  known = new Set(pending.map((approval) => approval.id));
  if (!fresh || fresh.length === 0) return;
  if (isOn(SOUND)) playSound();
  if (isOn(DESKTOP) && canNotify()) notify(fresh);
}

const canNotify = () => "Notification" in window && Notification.permission === "granted";

function notify(approvals) {
  const [first] = approvals;
  const more = approvals.length > 1 ? ` and ${approvals.length - 1} more` : "";
  const body = visible(`${first.operation} of ${first.source}${more}`);
  const notification = new Notification("A call waits for your decision", { body, tag: "aquifer-approval", icon: "/favicon.svg" });
  notification.addEventListener("click", () => {
    focus();
    navigate(approvals.length === 1 ? `/approvals/${encodeURIComponent(first.id)}` : "/approvals");
    notification.close();
  });
}

function unlockAudio() {
  if (isOn(SOUND)) openAudio();
}

/** Browsers allow sound only after the person used the page, so this runs after a click or a key. */
function openAudio() {
  audio ??= new AudioContext();
  if (audio.state === "suspended") audio.resume().catch(() => null);
}

/** Two short soft tones. */
function playSound() {
  if (!audio) return;
  for (const [index, pitch] of [660, 880].entries()) {
    const start = audio.currentTime + index * 0.16;
    const [tone, volume] = [audio.createOscillator(), audio.createGain()];
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0.0001, start);
    volume.gain.exponentialRampToValueAtTime(0.12, start + 0.02);
    volume.gain.exponentialRampToValueAtTime(0.0001, start + 0.3);
    tone.connect(volume).connect(audio.destination);
    tone.start(start);
    tone.stop(start + 0.32);
  }
}

function toggle(label, read, write) {
  const button = h("button", { type: "button", class: "button" });
  const draw = () => {
    button.setAttribute("aria-pressed", String(read()));
    button.textContent = `${label}: ${read() ? "on" : "off"}`;
  };
  button.addEventListener("click", async () => {
    announce(await write(!read()));
    draw();
  });
  draw();
  return button;
}

async function setDesktop(wanted) {
  remember(DESKTOP, wanted);
  if (!wanted) return "Desktop notifications are off.";
  if (!("Notification" in window)) return "This browser cannot show notifications here.";
  const permission = await Notification.requestPermission();
  return permission === "granted" ? "Desktop notifications are on." : "The browser does not allow notifications for this page.";
}

async function setSound(wanted) {
  remember(SOUND, wanted);
  if (!wanted) return "The sound is off.";
  openAudio();
  playSound();
  return "The sound is on.";
}

// If storage is disabled, a choice lasts until the page is closed.
const chosen = new Map();

function isOn(key) {
  if (chosen.has(key)) return chosen.get(key);
  try {
    return localStorage.getItem(key) === "on";
  } catch {
    return false;
  }
}

function remember(key, wanted) {
  chosen.set(key, wanted);
  try {
    localStorage.setItem(key, wanted ? "on" : "off");
  } catch {
    // Kept in memory only.
  }
}
