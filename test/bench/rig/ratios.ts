/** The median; of an even number of values, the lower middle one. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
}

/** One line of a benchmark: the name of the measurement, its floor in the same run, and their ratio with the aim. */
export function reportRatio(what: string, valueMs: number, floorMs: number, aim: number): void {
  const ratio = valueMs / floorMs;
  const verdict = ratio <= aim ? 'within' : 'ABOVE';
  console.log(
    `${what}: ${valueMs.toFixed(1)} ms, floor ${floorMs.toFixed(1)} ms, ratio ${ratio.toFixed(3)} (${verdict} the aim of ${aim})`,
  );
}
