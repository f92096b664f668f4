/** One verb of a format with its flags: https://pkg.go.dev/fmt#hdr-Printing */
export type Verb = {
  readonly letter: string;
  readonly minus: boolean;
  readonly plus: boolean;
  readonly sharp: boolean;
  readonly space: boolean;
  readonly zero: boolean;
  readonly width: number | undefined;
  readonly precision: number | undefined;
};

/** Pads to the width in characters, with zeros if the verb asks for them. */
export function pad(text: string, { width = 0, minus, zero }: Verb, mayZero = true): string {
  const missing = width - characterCount(text);
  if (missing <= 0) return text;
  if (minus) return text + ' '.repeat(missing);
  return (zero && mayZero ? '0' : ' ').repeat(missing) + text;
}

function characterCount(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) if ((text.charCodeAt(at) & 0xfc00) !== 0xdc00) count += 1;
  return count;
}
