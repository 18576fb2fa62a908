// Random inputs, the same in every run.

/** Numbers from 0 up to `below`, from a seed. */
export function generator(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state % 65536 % below;
  };
}

/** Calls `check` with a generator of its own many times, and says which one failed. */
export function repeat(count, check) {
  for (let seed = 1; seed <= count; seed += 1) {
    try {
      check(generator(seed));
    } catch (error) {
      throw new Error(`seed ${seed}: ${error.message}`, { cause: error });
    }
  }
}
