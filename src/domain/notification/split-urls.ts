/**
 * The URLs in a text, separated by white space and commas. A comma begins a URL only if `[name=]scheme://` follows it
 * directly: `?to=a@x,b@y` and `?contexts=link:https://…,image:https://…` stay whole. A web address in the `actions` of
 * ntfy begins none: `?actions=view,Docs,https://…`.
 */
export function splitUrls(text: string): readonly string[] {
  const urls: string[] = [];
  for (const word of text.split(/\s+/)) {
    let url = '';
    for (const piece of word.split(',')) {
      if (url !== '' && !beginsUrl(piece, url)) url += `,${piece}`;
      else {
        urls.push(url);
        url = piece;
      }
    }
    urls.push(url);
  }
  return urls.map((url) => url.replace(/,+$/, '')).filter((url) => url !== '');
}

/**
 * The URLs in one line of a file, which may contain spaces: usually one. Lines of Watchtower's files have several, each
 * with another scheme than that of the web.
 */
export function splitLine(line: string): readonly string[] {
  return line
    .split(/[\s,]+(?=(?:[\w.-]+=)?(?!https?:)[a-z][a-z0-9.+-]*:\/\/)/i)
    .map((url) => url.trim().replace(/,+$/, ''))
    .filter((url) => url !== '');
}

function beginsUrl(piece: string, before: string): boolean {
  const [, scheme] = /^(?:[\w.-]+=)?([a-z][a-z0-9.+-]*):\/\//i.exec(piece) ?? [];
  const isWeb = scheme !== undefined && /^https?$/i.test(scheme);
  return scheme !== undefined && !(isWeb && /[?&]actions=[^&]*$/i.test(before));
}
