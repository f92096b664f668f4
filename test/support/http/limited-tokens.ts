import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiToken, eventsToken } from './http-scene.ts';

/** Files of tokens, of which `ci` (operator) and `board` (viewer) have a filter, and the tokens in them. */
export function limitedTokens(folder: string, filter: string) {
  const [operator, viewer] = ['token-of-the-ci-job-of-acme', 'token-of-the-board-of-acme'];
  const files = { api: join(folder, 'limited-api-tokens'), events: join(folder, 'limited-events-tokens') };
  for (const [path, all, kind] of [
    [files.api, apiToken, ''],
    [files.events, eventsToken, 'events-'],
  ] as const)
    writeFileSync(
      path,
      `all: ${all}\nci: ${kind}${operator} operator, ${filter}\nboard: ${kind}${viewer} viewer, ${filter}\n`,
    );
  return { ...files, operator, viewer, eventsOperator: `events-${operator}` };
}

type Described = {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<Record<string, { readonly parameters?: readonly { readonly name: string; readonly in: string }[] }>>
    >
  >;
};

/** Every endpoint that the description offers for reading, with each parameter that may change what is told. */
export function readsOf({ paths }: Described, container: string): readonly string[] {
  const values: Readonly<Record<string, string>> = { container, extra: 'true', full: 'true', limit: '100' };
  return Object.entries(paths).flatMap(([path, { get }]) => {
    if (get === undefined || path === '/v1/events' || path.startsWith('/swagger') || path.includes('{')) return [];
    const known = (get.parameters ?? []).flatMap(({ name, in: where }) =>
      where === 'query' && values[name] !== undefined ? [`${name}=${values[name]}`] : [],
    );
    return known.length === 0 ? [path] : [path, `${path}?${known.join('&')}`];
  });
}
