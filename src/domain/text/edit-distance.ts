/**
 * The candidate that a mistyped name most likely means. Undefined if none is near: more than half (or `largestShare`)
 * of the longer one would have to change.
 */
export function nearest<Name extends string>(
  typed: string,
  candidates: readonly Name[],
  largestShare = 0.5,
): Name | undefined {
  if (typed.length > longestTyped) return undefined;
  let best: Name | undefined;
  let bestShare = largestShare;
  for (const candidate of candidates) {
    const share = editDistance(typed.toLowerCase(), candidate.toLowerCase()) / Math.max(typed.length, candidate.length);
    if (share < bestShare || (share === bestShare && best === undefined)) [best, bestShare] = [candidate, share];
  }
  return best;
}

/**
 * The number of letters to add, remove, replace or swap with their neighbour. The time grows with the product of the
 * lengths: https://en.wikipedia.org/wiki/Damerau%E2%80%93Levenshtein_distance
 */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const costs = [at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1)];
      if (swapped) costs.push(at(beforeLast, column - 2) + 1);
      current.push(Math.min(...costs));
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, to.length);
}

const longestTyped = 64;

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
