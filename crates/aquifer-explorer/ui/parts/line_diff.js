// Compares two lists of lines with Myers' algorithm, in time that grows with the number of differences.

// Texts that differ in more lines than this are shown as replaced as a whole.
const MAX_DIFFERENCES = 1500;

/** Returns hunks in order: `{kind: "same", lines}` or `{kind: "changed", removed, added}`. */
export function diffLines(before, after) {
  const start = commonStart(before, after);
  const end = commonEnd(before, after, start);
  const removed = before.slice(start, before.length - end);
  const added = after.slice(start, after.length - end);
  const edits = [
    ...before.slice(0, start).map(same),
    ...(editScript(removed, added) ?? replaced(removed, added)),
    ...before.slice(before.length - end).map(same),
  ];
  return groupEdits(edits);
}

/** Splits two lines into their common start, what differs, and their common end. */
export function splitLines(before, after) {
  // By code points, so that no character is cut in half.
  const [old, current] = [[...before], [...after]];
  const start = commonStart(old, current);
  const end = commonEnd(old, current, start);
  const split = (letters) => [
    letters.slice(0, start).join(""),
    letters.slice(start, letters.length - end).join(""),
    letters.slice(letters.length - end).join(""),
  ];
  return [split(old), split(current)];
}

const same = (line) => ({ kind: "same", line });

const replaced = (removed, added) => [
  ...removed.map((line) => ({ kind: "removed", line })),
  ...added.map((line) => ({ kind: "added", line })),
];

function commonStart(a, b) {
  let count = 0;
  while (count < a.length && count < b.length && a[count] === b[count]) count += 1;
  return count;
}

function commonEnd(a, b, start) {
  let count = 0;
  const most = Math.min(a.length, b.length) - start;
  while (count < most && a[a.length - 1 - count] === b[b.length - 1 - count]) count += 1;
  return count;
}

/** The shortest list of edits, or null if there are too many. */
function editScript(before, after) {
  const most = Math.min(before.length + after.length, MAX_DIFFERENCES);
  const history = [];
  let reached = new Map([[1, 0]]);
  for (let differences = 0; differences <= most; differences += 1) {
    history.push(reached);
    reached = new Map(reached);
    for (let diagonal = -differences; diagonal <= differences; diagonal += 2) {
      const isDown = goesDown(reached, diagonal, differences);
      let x = isDown ? reached.get(diagonal + 1) : reached.get(diagonal - 1) + 1;
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x += 1;
      reached.set(diagonal, x);
      if (x >= before.length && x - diagonal >= after.length) return backtrack(before, after, history);
    }
  }
  return null;
}

function goesDown(reached, diagonal, differences) {
  if (diagonal === -differences) return true;
  if (diagonal === differences) return false;
  return reached.get(diagonal - 1) < reached.get(diagonal + 1);
}

function backtrack(before, after, history) {
  const edits = [];
  let [x, y] = [before.length, after.length];
  for (let differences = history.length - 1; differences >= 0; differences -= 1) {
    const reached = history[differences];
    const diagonal = x - y;
    const isDown = goesDown(reached, diagonal, differences);
    const previousX = reached.get(isDown ? diagonal + 1 : diagonal - 1);
    const previousY = previousX - (isDown ? diagonal + 1 : diagonal - 1);
    while (x > previousX && y > previousY && x > 0 && y > 0) {
      x -= 1;
      y -= 1;
      edits.push(same(before[x]));
    }
    if (differences === 0) break;
    if (isDown) edits.push({ kind: "added", line: after[y - 1] });
    else edits.push({ kind: "removed", line: before[x - 1] });
    [x, y] = [previousX, previousY];
  }
  return edits.reverse();
}

function groupEdits(edits) {
  const hunks = [];
  for (const { kind, line } of edits) {
    const wanted = kind === "same" ? "same" : "changed";
    let hunk = hunks.at(-1);
    if (hunk?.kind !== wanted) {
      hunk = wanted === "same" ? { kind: wanted, lines: [] } : { kind: wanted, removed: [], added: [] };
      hunks.push(hunk);
    }
    (kind === "same" ? hunk.lines : hunk[kind]).push(line);
  }
  return hunks;
}
