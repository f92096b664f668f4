import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText } from '../../../../test/support/any-text.ts';
import { parseIpAddress } from '../../../domain/settings/http-settings.ts';
import { parseTimestamp } from '../../json/timestamps.ts';
import { createClientReader, createCors } from '../guards/clients.ts';
import { HttpError } from '../replies/errors.ts';
import { numberOf } from '../events/event-streams.ts';
import { count, flag, list, moment, parseQuery, readQuery, text, normalTarget, pathOf } from '../requests/request.ts';
import { requestIdOf } from './door.ts';

const pieces = [
  'a',
  '1',
  '.',
  ':',
  '::',
  '/',
  '-',
  ',',
  ' ',
  '[',
  ']',
  '%',
  '"',
  '\\',
  '\u0080',
  'https://',
  '10.0.0.1',
];
const morePieces = [
  'example.com',
  '*',
  '@',
  'null',
  '2026-11-20T12:30:17Z',
  '+',
  'epoch-',
  '?',
  '#',
  'http://x',
  '=',
  '&',
];
const texts = fc.oneof(
  anyText(),
  fc.array(fc.constantFrom(...pieces, ...morePieces), { maxLength: 12 }).map((parts) => parts.join('')),
);

function requestWith(headers: IncomingHttpHeaders): IncomingMessage {
  const request: Pick<IncomingMessage, 'headers' | 'method'> & { readonly socket: object } = {
    headers,
    method: 'GET',
    socket: { remoteAddress: '127.0.0.1' },
  };
  return request as IncomingMessage;
}

test('an X-Request-Id is echoed only where it can stand in a header and a log', () => {
  fc.assert(
    fc.property(texts, (given) => {
      expect(requestIdOf(given)).toMatch(/^[\x20-\x7e]{1,256}$/);
    }),
  );
});

test('whatever proxies write, a caller is an address and a scheme', () => {
  const readCaller = createClientReader({
    trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'],
    proxyHeader: 'X-Forwarded-For',
  });
  fc.assert(
    fc.property(texts, (given) => {
      const caller = readCaller(requestWith({ 'x-forwarded-for': given, 'x-forwarded-proto': given }));
      expect(parseIpAddress(caller.address)).toBeDefined();
      expect(caller.scheme).toMatch(/^https?$/);
    }),
  );
});

test('an Origin is echoed only where it is one of those that are allowed, as it was allowed', () => {
  const cors = createCors(['https://example.com', 'https://*.example.org:8443']);
  const origins = fc.oneof(
    texts,
    texts.map((part) => `https://${part}.example.org:8443`),
    texts.map((part) => `https://example.com${part}`),
  );
  fc.assert(
    fc.property(origins, (origin) => {
      const headers = new Map<string, string>();
      const response = { setHeader: (name: string, value: string) => headers.set(name, value) };
      cors.apply(requestWith({ origin }), response as unknown as ServerResponse);
      const allowed = headers.get('Access-Control-Allow-Origin');
      if (allowed === undefined) return;
      expect(new URL(allowed).origin).toMatch(/^https:\/\/(?:example\.com|[a-z\d._-]+\.example\.org:8443)$/);
    }),
    { numRuns: 500 },
  );
});

test('a Last-Event-ID is a number of this stream, its beginning, or none', () => {
  fc.assert(
    fc.property(texts, (given) => {
      expect(numberOf(given, 'epoch') ?? 0).toSatisfy((id: number) => Number.isSafeInteger(id) && id >= 0);
    }),
  );
});

test('a query is read, or refused with 400', () => {
  const table = { list: list(''), text: text(''), flag: flag(''), moment: moment(''), count: count('') };
  const pair = fc.tuple(fc.constantFrom(...Object.keys(table), '__proto__'), fc.oneof(texts, fc.json()));
  const written = fc.array(pair).map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&'));
  fc.assert(
    fc.property(written, (query) => {
      try {
        const values = readQuery(table, parseQuery(`/v1/history?${query}`));
        expect(values.list.every((item) => item.trim() === item && item !== '')).toBe(true);
        expect(Number.isSafeInteger(values.count ?? 0)).toBe(true);
        expect(Number.isFinite(values.moment ?? 0)).toBe(true);
      } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        expect(error.problem.status).toBe(400);
      }
    }),
    { numRuns: 500 },
  );
});

test('a path has no query, and a normal one stays as it is', () => {
  fc.assert(
    fc.property(texts, (target) => {
      expect(pathOf(`/${target}`)).not.toMatch(/[?#]/);
      const normal = normalTarget(`/v1/${target}/`);
      expect(pathOf(normal).length).toBeLessThanOrEqual(`/v1/${target}/`.length);
    }),
  );
});

test.each([...pieces, ...morePieces, 'a-', '1:', '10.0.0.1,'])('headers of a megabyte of %j are soon read', (piece) => {
  const readCaller = createClientReader({ trustedProxies: ['0.0.0.0/0', '::/0'], proxyHeader: 'X-Forwarded-For' });
  const cors = createCors(['https://*.example.org']);
  const given = piece.repeat(1_000_000 / piece.length);
  const caller = readCaller(requestWith({ 'x-forwarded-for': given, 'x-forwarded-proto': given }));
  expect(caller.scheme).toBe('http');
  expect(cors.admits(requestWith({ origin: `https://${given}!`, host: given }))).toBe(false);
  expect(requestIdOf(given)).toHaveLength(36);
  expect([numberOf(given, 'epoch'), parseTimestamp(given)]).toEqual([undefined, undefined]);
  expect(pathOf(given).length).toBeLessThanOrEqual(given.length);
});
