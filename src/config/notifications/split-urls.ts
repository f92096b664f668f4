/**
 * Splits a text with several URLs like the Watchtower family: at white space, and at a comma. If the text after a comma
 * has no `://`, it belongs to the URL before, as the second recipient of a mail does.
 */
export function splitUrls(text: string): readonly string[] {
  const urls: string[] = [];
  for (const word of text.split(/\s+/)) {
    let isFirst = true;
    for (const piece of word.split(',')) {
      const before = isFirst ? undefined : urls.at(-1);
      isFirst = false;
      if (before !== undefined && !piece.includes('://')) urls[urls.length - 1] = `${before},${piece}`;
      else urls.push(piece);
    }
  }
  return urls.map((url) => url.replace(/^,+|,+$/g, '')).filter((url) => url !== '');
}
