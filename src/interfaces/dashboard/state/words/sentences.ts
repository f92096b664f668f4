/** `3 containers` */
export function plural(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

/** `a, b and c` */
export function joinedWords(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

export function capitalized(text: string): string {
  const [first = ''] = text;
  return first.toUpperCase() + text.slice(first.length);
}

/** A sentence within another one. Names and abbreviations keep their first letter. */
export function uncapitalized(text: string): string {
  return /^[A-Z][a-z]* /.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

/** Adds the period that reasons lack. */
export function withPeriod(sentence: string): string {
  const text = sentence.trim();
  return text === '' || /[.!?…]$/.test(text) ? text : `${text}.`;
}
