/** The state that a reload must restore: `#/c/NAME?show=ready&group=project&q=text&engine=name`. */
export type Address = {
  readonly page: 'containers' | 'history' | 'settings';
  /** Name of the container in the drawer; empty: none. */
  readonly open: string;
  readonly show: Shown;
  readonly group: 'status' | 'project';
  readonly q: string;
  readonly engine: string;
};

export const shownKinds = ['all', 'wrong', 'now', 'ready', 'held', 'unchecked', 'fine'] as const;
export type Shown = (typeof shownKinds)[number];

export const startAddress: Address = { page: 'containers', open: '', show: 'all', group: 'status', q: '', engine: '' };

/** Reads the fragment of a URL. Invalid parts are omitted. */
export function readAddress(hash: string): Address {
  const [path = '', query = ''] = split(hash.replace(/^#/, ''));
  const [, page = '', name = ''] = path.split('/');
  const params = new URLSearchParams(query);
  return {
    page: page === 'history' || page === 'settings' ? page : 'containers',
    open: page === 'c' ? decoded(name) : '',
    show: shownKinds.find((kind) => kind === params.get('show')) ?? 'all',
    group: params.get('group') === 'project' ? 'project' : 'status',
    q: params.get('q') ?? '',
    engine: params.get('engine') ?? '',
  };
}

export function writeAddress({ page, open, show, group, q, engine }: Address): string {
  const params = new URLSearchParams();
  if (show !== 'all') params.set('show', show);
  if (group !== 'status') params.set('group', group);
  if (q !== '') params.set('q', q);
  if (engine !== '') params.set('engine', engine);
  const query = params.size === 0 ? '' : `?${params}`;
  if (page !== 'containers') return `#/${page}${query}`;
  return `#/${open === '' ? '' : `c/${encodedPart(open)}`}${query}`;
}

/** A text as part of a URL. A lone surrogate cannot be encoded, so it becomes U+FFFD. */
export function encodedPart(text: string): string {
  return encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, '\uFFFD'));
}

function split(text: string): readonly string[] {
  const mark = text.indexOf('?');
  return mark === -1 ? [text] : [text.slice(0, mark), text.slice(mark + 1)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
