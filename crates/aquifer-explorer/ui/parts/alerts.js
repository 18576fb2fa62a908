// Tells a person that a call waits: a desktop notification and a sound. Both are off until a button turns them on.
import { announce, visible } from "/lib/dom.js";
import { get } from "/lib/api.js";
import { on } from "/lib/events.js";
import { navigate } from "/lib/router.js";
import { load, save } from "/lib/storage.js";
import { button } from "/parts/elements.js";

const [DESKTOP, SOUND] = ["aquifer.alerts.desktop", "aquifer.alerts.sound"];

let audio = null;
let known = null;
let isStarted = false;

/** Watches for new approvals for as long as the document is open. Calling it again does nothing. */
export function startAlerts() {
  if (isStarted) return;
  isStarted = true;
  check();
  for (const type of ["hello", "approvals"]) on(type, check);
  // Browsers allow sound only after the person used the page.
  for (const type of ["pointerdown", "keydown"]) addEventListener(type, () => load(SOUND, false) && openAudio(), { once: true });
}

/** Two buttons that turn desktop notifications and the sound on and off. */
export const alertButtons = () => [
  toggle("Notifications", () => load(DESKTOP, false) && canNotify(), setDesktop),
  toggle("Sound", () => load(SOUND, false), setSound),
];

async function check() {
  const answer = await get("/approvals").catch(() => null);
  if (!answer) return;
  const pending = answer.approvals.filter(({ status }) => status === "pending");
  const fresh = known ? pending.filter(({ id }) => !known.has(id)) : [];
  known = new Set(pending.map(({ id }) => id));
  if (fresh.length > 0 && load(SOUND, false)) playSound();
  if (fresh.length > 0 && load(DESKTOP, false) && canNotify()) notify(fresh);
}

const canNotify = () => "Notification" in window && Notification.permission === "granted";

function notify([first, ...others]) {
  const more = others.length > 0 ? ` and ${others.length} more` : "";
  const body = visible(`${first.operation} of ${first.source}${more}`);
  const notification = new Notification("A call waits for your decision", { body, tag: "aquifer-approval", icon: "/favicon.svg" });
  notification.addEventListener("click", () => {
    focus();
    navigate(others.length === 0 ? `/approvals/${encodeURIComponent(first.id)}` : "/approvals");
    notification.close();
  });
}

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
  const words = () => `${label}: ${read() ? "on" : "off"}`;
  const element = button(words(), async () => {
    announce(await write(!read()));
    element.textContent = words();
  });
  return element;
}

async function setDesktop(wanted) {
  save(DESKTOP, wanted);
  if (!wanted) return "Desktop notifications are off.";
  const permission = "Notification" in window ? await Notification.requestPermission() : "denied";
  return permission === "granted" ? "Desktop notifications are on." : "The browser does not allow notifications for this page.";
}

async function setSound(wanted) {
  save(SOUND, wanted);
  if (!wanted) return "The sound is off.";
  openAudio();
  playSound();
  return "The sound is on.";
}
