// Compares two lists of lines by their longest common subsequence.

// Larger differences are shown as replaced as a whole: the table below would need too much memory.
const MAX_CELLS = 4e6;

/** Returns hunks in order: `{same: lines}` or `{removed: lines, added: lines}`. */
export function diffLines(before, after) {
  const [start, end] = commonEnds(before, after);
  const hunks = [
    { same: before.slice(0, start) },
    ...compare(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    { same: before.slice(before.length - end) },
  ];
  return hunks.filter(({ same }) => same?.length !== 0);
}

/** Splits two lines into their common start, what differs, and their common end. */
export function splitLines(...lines) {
  // By code points, so that no character is cut in half.
  const letters = lines.map((line) => [...line]);
  const [start, end] = commonEnds(...letters);
  return letters.map((line) => [line.slice(0, start), line.slice(start, line.length - end), line.slice(line.length - end)].map((part) => part.join("")));
}

function commonEnds(a, b) {
  let [start, end] = [0, 0];
  const shorter = Math.min(a.length, b.length);
  while (start < shorter && a[start] === b[start]) start += 1;
  while (end < shorter - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  return [start, end];
}

function compare(before, after) {
  if (before.length + after.length === 0) return [];
  if (before.length * after.length > MAX_CELLS) return [{ removed: before, added: after }];
  const width = after.length + 1;
  const lengths = commonLengths(before, after, width);
  const hunks = [];
  const push = (kind, line) => {
    const isSame = kind === "same";
    if (hunks.length === 0 || isSame !== "same" in hunks.at(-1)) hunks.push(isSame ? { same: [] } : { removed: [], added: [] });
    hunks.at(-1)[kind].push(line);
  };
  let [x, y] = [0, 0];
  while (x < before.length || y < after.length) {
    const [down, right] = [lengths[(x + 1) * width + y] ?? -1, y < after.length ? lengths[x * width + y + 1] : -1];
    const isSame = x < before.length && before[x] === after[y];
    const kind = isSame ? "same" : x < before.length && down >= right ? "removed" : "added";
    push(kind, kind === "added" ? after[y] : before[x]);
    if (kind !== "added") x += 1;
    if (kind !== "removed") y += 1;
  }
  return hunks;
}

/** At `x * width + y`: how many lines the rests of both texts from there have in common. */
function commonLengths(before, after, width) {
  const lengths = new Uint16Array((before.length + 1) * width);
  for (let x = before.length - 1; x >= 0; x -= 1) {
    for (let y = after.length - 1; y >= 0; y -= 1) {
      const at = x * width + y;
      lengths[at] = before[x] === after[y] ? lengths[at + width + 1] + 1 : Math.max(lengths[at + width], lengths[at + 1]);
    }
  }
  return lengths;
}
