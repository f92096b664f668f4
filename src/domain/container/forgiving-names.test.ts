import { describe, expect, test } from 'vitest';
import { forgivingPattern, suggestionFor } from './lookup.ts';

const compose = (project: string, service: string) => ({
  'com.docker.compose.project': project,
  'com.docker.compose.service': service,
});
const containers = [
  { name: 'home-web-1', labels: compose('home', 'web') },
  { name: 'home-db-1', labels: compose('home', 'db') },
  { name: 'Vaultwarden', labels: {} },
  { name: 'api-2', labels: {} },
  { name: 'api-10', labels: {} },
];
const meant = (text: string) => containers.map(({ name }) => name).filter(forgivingPattern(text, containers));

describe('a name that a person types', () => {
  test.each([
    ['home-web-1', ['home-web-1']],
    ['/home-web-1', ['home-web-1']],
    ['api-.*', ['api-2', 'api-10']],
    ['vaultwarden', ['Vaultwarden']],
    ['HOME-WEB-1', ['home-web-1']],
    ['web', ['home-web-1']],
    ['Web', ['home-web-1']],
    ['home', ['home-web-1', 'home-db-1']],
    ['api-*', ['api-2', 'api-10']],
    ['*-db-?', ['home-db-1']],
    ['api-?', ['api-2']],
    ['home-wbe-1', []],
    ['nothere', []],
    ['(*', []],
    ['', []],
  ])('%j means %j', (text, names) => {
    expect(meant(text)).toEqual(names);
  });

  test.each([
    ['home-wbe-1', '; did you mean "home-web-1"?'],
    ['wbe', '; did you mean "web"?'],
    ['VAULTWARDE', '; did you mean "Vaultwarden"?'],
    ['home', '; did you mean "home-web-1", "home-db-1"?'],
    ['jellyfin', '; the containers are "home-web-1", "home-db-1", "Vaultwarden", "api-2", "api-10"'],
  ])('%j is answered with %j', (text, suggestion) => {
    expect(suggestionFor(text, containers)).toBe(suggestion);
  });

  test('names at most eight containers, and says that there are none', () => {
    const many = Array.from({ length: 30 }, (_, at) => ({ name: `container-number-${at}` }));
    expect(suggestionFor('x', many)).toMatch(/"container-number-7", and 22 more$/);
    expect(suggestionFor('x', [])).toBe('; there are no containers');
  });
});
