import type { ProbeResult, Prober, ProbeRequest } from '../../domain/outside/outside.ts';
import { codeOf } from '../../domain/text/errors.ts';
import { request } from 'node:http';
import { connect, isIP } from 'node:net';

/**
 * Probes over real sockets. Only the head of an HTTP answer is read. Redirects are not followed, no proxy is used, and
 * no name is looked up.
 */
export function createProber(): Prober {
  return {
    probe: async (question, signal) => {
      signal?.throwIfAborted();
      if (isIP(question.address) === 0) return noAnswerBecause('its address is not an IP address');
      const deadline = AbortSignal.timeout(Math.ceil(question.timeoutMs));
      const signalOrDeadline = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
      try {
        return await (question.path === undefined
          ? askTcp(question, signalOrDeadline)
          : askHttp(question, signalOrDeadline));
      } catch (error) {
        signal?.throwIfAborted();
        return noAnswerBecause(deadline.aborted ? noAnswer : describeSocketError(error));
      }
    },
  };
}

const noAnswer = 'there was no answer in time';

function askTcp({ address, port }: ProbeRequest, signal: AbortSignal): Promise<ProbeResult> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, signal });
    socket.once('error', reject);
    socket.once('connect', () => {
      resolve({ kind: 'accepted' });
      socket.destroy();
    });
  });
}

function askHttp({ address, port, path }: ProbeRequest, signal: AbortSignal): Promise<ProbeResult> {
  return new Promise((resolve, reject) => {
    const asking = request({ host: address, port, path, signal, agent: false, headers: { 'User-Agent': 'upkeep' } });
    asking.once('response', (response) => {
      response.on('error', () => undefined);
      resolve({ kind: 'status', status: response.statusCode ?? 0 });
      asking.destroy();
    });
    // Without this listener, a switch of protocols would end the connection without any event.
    asking.once('upgrade', (response, socket) => {
      resolve({ kind: 'status', status: response.statusCode ?? 0 });
      socket.destroy();
    });
    asking.on('error', reject);
    asking.end();
  });
}

/** Node's codes, with texts for the common ones: https://nodejs.org/api/errors.html#common-system-errors */
function describeSocketError(error: unknown): string {
  const code = codeOf(error) || 'unknown error';
  return (
    errorTexts.get(code) ?? (code.startsWith('HPE_') ? 'its answer is not HTTP' : `it cannot be reached (${code})`)
  );
}

const errorTexts: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'nothing listens on the port (ECONNREFUSED)'],
  ['ECONNRESET', 'it closed the connection without an answer (ECONNRESET)'],
  ['EHOSTUNREACH', 'there is no route to its address (EHOSTUNREACH)'],
  ['ENETUNREACH', 'there is no route to its network (ENETUNREACH)'],
]);

function noAnswerBecause(reason: string): ProbeResult {
  return { kind: 'silent', reason };
}
