import { orAborted } from '../../domain/concurrency.ts';
import type { Message, SendOutcome, Target } from '../../domain/notification/message.ts';
import { formatDuration } from '../../domain/text/duration.ts';
import type { Delivery, NotifyDeps, Part, ReadTarget } from './service/service.ts';
import { Refused, type Exchange } from './service/exchange.ts';
import {
  expectAccepted,
  createAcceptedParts,
  createRedaction,
  answerText,
  type AnswerCheck,
} from './service/answer.ts';

type Naming = Pick<Target, 'name' | 'service' | 'wantsRunStart'>;

/** A target that sends. After a message was accepted in part, the next attempt sends the other parts. */
export function openTarget(read: ReadTarget, naming: Naming, exchange: Exchange, deps: NotifyDeps): Target {
  const { deadlineMs = 10_000 } = deps;
  const delivery = read.open(deps);
  const cut = createRedaction(read.secrets);
  const progress = createAcceptedParts<number>();
  return {
    ...naming,
    shown: read.shown,
    async send(message, signal) {
      const late = AbortSignal.timeout(deadlineMs);
      const either = AbortSignal.any([signal, late]);
      try {
        // A sender that ignores the signal is abandoned.
        const answer = await orAborted(
          'deliver' in delivery
            ? delivery.deliver(message, exchange, either)
            : sendParts(delivery, message, { exchange, accepted: progress.of(message.id), signal: either }),
          either,
        );
        progress.forget(message.id);
        return { kind: 'sent', answer: cut(answer) };
      } catch (error) {
        if (signal.aborted) return failed('network', 'it was stopped before the service had answered');
        if (late.aborted) return failed('network', `no answer within ${formatDuration(deadlineMs)}`);
        if (!(error instanceof Refused))
          return failed('rejected', `the request could not be made: ${cut(wordsOfError(error))}`);
        const said = error.said === '' ? '' : `: ${cut(error.said)}`;
        return failed(error.failure, `${cut(error.message)}${said}`, error.retryAfterMs);
      }
    },
  };
}

function failed(failure: Refused['failure'], words: string, retryAfterMs?: number): SendOutcome {
  const remedy = remedies[failure];
  const reason = remedy === undefined ? words : `${words} (${remedy})`;
  return { kind: 'failed', failure, reason, retryAfterMs };
}

const remedies: Partial<Record<Refused['failure'], string>> = {
  auth: "check the token or password in the target's URL",
  gone: 'the service does not have the target, or has not invited the bot; give another URL',
};

function wordsOfError(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 200) : 'unknown';
}

type SendContext = { readonly exchange: Exchange; readonly accepted: Set<number>; readonly signal: AbortSignal };

/** Sends parts one after the other, because receivers show them in the order of arrival. */
async function sendParts(
  { requests, judge }: Extract<Delivery, { requests: unknown }>,
  message: Message,
  { exchange, accepted, signal }: SendContext,
): Promise<string> {
  const parts = await requests(message, exchange, signal);
  const refusals = new Map<string, Refused>();
  let words = '';
  for (const [index, part] of parts.entries()) {
    const to = part.to ?? '';
    if (accepted.has(index) || refusals.has(to)) continue;
    try {
      words = await sendPart(part, judge, exchange, signal);
      accepted.add(index);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      refusals.set(to, error);
    }
  }
  if (refusals.size > 0) throw combinedRefusal([...refusals.values()], new Set(parts.map(({ to }) => to)).size);
  return words;
}

async function sendPart(
  part: Part,
  judge: AnswerCheck | undefined,
  exchange: Exchange,
  signal: AbortSignal,
): Promise<string> {
  const answer = await exchange(part, signal);
  try {
    expectAccepted(answer, judge);
  } catch (error) {
    const other = part.otherwise?.(answer);
    if (other === undefined) throw error;
    return sendPart(other, judge, exchange, signal);
  }
  const words = answerText(answer);
  return `status ${answer.status}${words === '' ? '' : `: ${words}`}`;
}

/** Of several refusals, a temporary one decides. */
function combinedRefusal(refusals: readonly Refused[], receivers: number): Refused {
  const order = ['rate', 'network', 'auth', 'rejected', 'gone'];
  const sorted = refusals.toSorted((a, b) => order.indexOf(a.failure) - order.indexOf(b.failure));
  const [first] = sorted;
  if (first === undefined || receivers === 1) return first ?? new Refused('rejected', 'it has no recipient');
  const { failure, said, retryAfterMs } = first;
  const why = `${refusals.length} of ${receivers} receivers: ${first.message}`;
  return new Refused(failure, why, { said, retryAfterMs });
}
