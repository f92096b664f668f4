import type { MessageLevel, Target } from '../../domain/notification/message.ts';

type Deps = { readonly writeLog: (text: string, level: MessageLevel) => void };

/** Stands in until all services are there: `generic+http://` and `logger://`. */
export function parseTargets(
  values: readonly string[],
  { writeLog }: Deps & { hostName: string; nowMs: () => number },
) {
  const targets: Target[] = [];
  const problems: string[] = [];
  for (const value of values) {
    const [, named, url = ''] = /^(?:([\w-]+)=)?(.*)$/.exec(value) ?? [];
    const service = /^[a-z+]+/.exec(url)?.[0] ?? '';
    const count = targets.filter((target) => target.service === service).length;
    const name = named ?? (count === 0 ? service : `${service}-${count + 1}`);
    const shown = `${service}://[redacted]`;
    if (service === 'logger') {
      targets.push({
        name,
        service,
        shown,
        send: async ({ text, level }) => {
          writeLog(text, level);
          return { kind: 'sent', answer: '' };
        },
      });
      continue;
    }
    if (!url.startsWith('generic+http://')) {
      problems.push(`Cannot use ${shown}: not known`);
      continue;
    }
    targets.push({
      name,
      service,
      shown,
      async send(message, signal) {
        try {
          const answer = await fetch(url.slice('generic+'.length), {
            method: 'POST',
            body: JSON.stringify(message),
            signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]),
          });
          await answer.arrayBuffer();
          return answer.ok
            ? { kind: 'sent', answer: `status ${answer.status}` }
            : { kind: 'failed', failure: 'network', reason: `status ${answer.status}` };
        } catch {
          return { kind: 'failed', failure: 'network', reason: 'unreachable' };
        }
      },
    });
  }
  return { targets, problems };
}
