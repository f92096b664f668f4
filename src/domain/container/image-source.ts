import type { Labels } from './label-names.ts';

/**
 * A web page about an image: its source URL, else its home page. Only `http` and `https`, at most 500 characters:
 * https://github.com/opencontainers/image-spec/blob/main/annotations.md#pre-defined-annotation-keys
 */
export function sourceOf(labels: Labels | undefined): string | undefined {
  for (const name of names) {
    const text = labels !== undefined && Object.hasOwn(labels, name) ? (labels[name] ?? '') : '';
    const url = text.length <= longest && URL.canParse(text) ? new URL(text) : undefined;
    const isPlain = url?.username === '' && url.password === '';
    if (isPlain && /^https?:$/.test(url.protocol) && url.href.length <= longest) return url.href;
  }
  return undefined;
}

const names = ['org.opencontainers.image.source', 'org.opencontainers.image.url'];

const longest = 500;
