/**
 * Takes apart what may hold several URLs, as the Watchtower family does: at white space, and at a comma, unless what
 * follows it has no `://` and so belongs to the URL before, as the second recipient of a mail does.
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
