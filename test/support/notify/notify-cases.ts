import { expect, test } from 'vitest';
import type { Message } from '../../../src/domain/notification/message.ts';
import type { Answer } from '../http/http-server.ts';
import { startRig, type Received } from './notify-rig.ts';

/** A service's request for a message, taken from its documentation, not from our code. */
export type WireCase = {
  readonly name: string;
  readonly url: string;
  readonly message?: Partial<Message>;
  /** In this order. */
  readonly requests: readonly ExpectedRequest[];
};

export type ExpectedRequest = {
  readonly method?: string;
  readonly url: string;
  /** All headers except for the common ones. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  readonly text?: string;
};

/** A request in the words of a case. */
export function asExpectedRequest({ method, url, headers, body }: Received): ExpectedRequest {
  const own = Object.entries(headers).filter(([name]) => !common.includes(name));
  const type = headers['content-type'] ?? '';
  const rest = Object.fromEntries(own.map(([name, value]) => [name, String(value)]));
  const shown = { method, url, headers: rest };
  if (body === '') return shown;
  if (type === 'application/json') return { ...shown, json: JSON.parse(body) as unknown };
  if (type === 'application/x-www-form-urlencoded')
    return { ...shown, form: Object.fromEntries(new URLSearchParams(body)) };
  return { ...shown, text: body };
}

/** Every request has these; one test checks the user agent and the length for all. */
const common = ['host', 'connection', 'user-agent', 'content-length'];

/** A case's request with the common parts. */
export function withCommonParts({ method = 'POST', headers = {}, ...rest }: ExpectedRequest): ExpectedRequest {
  const usual: Record<string, string> =
    rest.json === undefined
      ? rest.form === undefined
        ? {}
        : { 'content-type': 'application/x-www-form-urlencoded' }
      : { 'content-type': 'application/json' };
  return { method, headers: { ...usual, ...headers }, ...rest };
}

/** `answer`: the service's success reply; `{}` with 200 by default. */
export function describeRequests(cases: readonly WireCase[], answer: Answer): void {
  test.each(cases)('$name', async ({ url, message, requests }) => {
    const rig = await startRig(answer);
    const outcome = await rig.send(url, message);
    expect(rig.received.map(asExpectedRequest)).toEqual(requests.map(withCommonParts));
    expect(outcome.kind).toBe('sent');
    for (const { headers, body } of rig.received) {
      expect(headers['user-agent']).toBe('upkeep/1.2.3');
      if (body !== '') expect(headers['content-length']).toBe(String(Buffer.byteLength(body)));
    }
    // A TLS request uses the host name.
    expect(rig.tunnels()).toEqual(
      rig.received
        .map((request) => new URL(request.url))
        .filter(({ protocol }) => protocol === 'https:')
        .map(({ hostname, port }) => `${hostname}:${port === '' ? '443' : port}`),
    );
  });
}
