/** Node's flat list of raw headers as pairs of name and value, in order. */
export function headerPairs(rawHeaders: readonly string[]): (readonly [string, string])[] {
  return Array.from({ length: rawHeaders.length / 2 }, (_, index) => [
    rawHeaders[2 * index] ?? '',
    rawHeaders[2 * index + 1] ?? '',
  ]);
}
