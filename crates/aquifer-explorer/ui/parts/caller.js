// Who made a call, as people read it.

/** The authenticated caller; otherwise what its client calls itself, which nobody has verified. */
export function callerWords(caller, clientName, unknown = "not known") {
  if (caller) return caller;
  return clientName ? `calls itself “${clientName}” (not verified)` : unknown;
}
