import type { SendFailure } from '../../../domain/notification/message.ts';
import { Refused, type HttpAnswer } from './exchange.ts';
import { readRetryAfter } from '../../http/exchange.ts';
import { objectOf, parseJson } from '../../../domain/text/json.ts';
import { printable } from '../../../domain/text/printable.ts';
import { withoutSecrets } from '../../../domain/text/hidden-secrets.ts';
import { putNewest } from '../../../domain/text/plain-data.ts';

/** Reads an answer first. Returns a refusal, `accepted`, or undefined to decide by the status. */
export type AnswerCheck = (answer: HttpAnswer) => Refused | 'accepted' | undefined;

/** Throws a `Refused` unless the service has accepted the message. Without a judge, a 2xx status is acceptance. */
export function expectAccepted(answer: HttpAnswer, judge: AnswerCheck = () => undefined): void {
  const verdict = judge(answer) ?? byStatus(answer);
  if (verdict !== 'accepted') throw verdict;
}

function byStatus(answer: HttpAnswer): Refused | 'accepted' {
  const { status } = answer;
  return status >= 200 && status < 300 ? 'accepted' : refusal(answer, failureOf(status, answerText(answer)));
}

/** A refusal with the status and the service's text, and for a rate limit with the time to wait. */
export function refusal(answer: HttpAnswer, failure: SendFailure, said = answerText(answer)): Refused {
  const waitMs = failure === 'rate' || failure === 'network' ? retryAfterMs(answer) : undefined;
  return new Refused(failure, `status ${answer.status}`, { said, retryAfterMs: waitMs });
}

/**
 * The pause that an answer asks for, in milliseconds: from `Retry-After`, else from Telegram's `parameters.retry_after`
 * (s), Matrix's `retry_after_ms` or Discord's `retry_after` (s). The outbox bounds the pause.
 */
function retryAfterMs(answer: HttpAnswer): number | undefined {
  const json = jsonOf(answer);
  const delays = [
    readRetryAfter(answer.headers['retry-after'], Date.now()),
    seconds(fieldOf(fieldOf(json, 'parameters'), 'retry_after')),
    fieldOf(json, 'retry_after_ms'),
    seconds(fieldOf(json, 'retry_after')),
  ];
  const ms = delays.find((value) => typeof value === 'number' && Number.isFinite(value) && value >= 0);
  return ms === undefined ? undefined : Math.ceil(Number(ms));
}

function seconds(value: unknown): number | undefined {
  return typeof value === 'number' ? value * 1000 : undefined;
}

/** For services that answer errors with status 200. */
export function refusalByWords(answer: HttpAnswer, words: string): Refused {
  return refusal(answer, failureOf(answer.status, words), words);
}

function failureOf(status: number, words: string): SendFailure {
  if (status === 429 || rateWords.test(words)) return 'rate';
  if (status === 401 || authWords.test(words)) return 'auth';
  if (status === 410 || goneWords.test(words)) return 'gone';
  if (status === 403) return 'auth';
  return status === 408 || status === 425 || status >= 500 ? 'network' : 'rejected';
}

const rateWords = /rate.?limit|too many request|frequency limited|freq out of limit|M_LIMIT_EXCEEDED/i;
const authWords =
  /unauthori[sz]ed|invalid_auth|not_authed|invalid token|token_revoked|M_UNKNOWN_TOKEN|M_MISSING_TOKEN|application token is invalid|invalid api key/i;
const goneWords =
  /no_service|channel_not_found|channel_is_archived|chat not found|bot was blocked by the user|bot was kicked|M_FORBIDDEN|M_NOT_FOUND|Unknown Webhook/i;

/** A judge for services with bodies such as `{"ok":true}`: the field must have the value. */
export function expectField(name: string, wanted: unknown): AnswerCheck {
  return (answer) => {
    if (answer.status >= 300) return undefined;
    const json = jsonOf(answer);
    if (json === undefined) return foreignAnswer(answer);
    const value = fieldOf(json, name);
    if (value === wanted) return 'accepted';
    return refusalByWords(answer, answerText(answer) || `${name} is ${JSON.stringify(value) ?? 'missing'}`);
  };
}

/** A judge for services that always answer with JSON. */
export const expectJson: AnswerCheck = (answer) =>
  answer.status < 300 && jsonOf(answer) === undefined ? foreignAnswer(answer) : undefined;

/** The answer of another server, for example the login page of a proxy. */
function foreignAnswer(answer: HttpAnswer): Refused {
  return refusal(
    answer,
    'rejected',
    'the answer is not in the form of this service; a proxy or another program may have sent it',
  );
}

/** The body as JSON; undefined if it is not JSON. */
export function jsonOf({ body }: HttpAnswer): unknown {
  return parseJson(body);
}

/** Undefined if the value is not an object or has no such field. */
export function fieldOf(value: unknown, name: string): unknown {
  return objectOf(value)?.[name];
}

/** The service's own text, at most 200 characters; empty without one. */
export function answerText(answer: HttpAnswer): string {
  const json = jsonOf(answer);
  if (json !== undefined) return short(textIn(json, 3));
  const isPage = /^\s*</.test(answer.body);
  return isPage ? '' : short(answer.body);
}

/** Fields in which the services put their errors, the most specific first. */
const errorFields = [
  ...['errcode', 'errorDescription', 'description', 'message', 'msg', 'errmsg', 'error', 'errors', 'errorMessage'],
  ...['reason', 'detail', 'result', 'title'],
];

function textIn(value: unknown, depth: number): string {
  if (typeof value === 'string') return value;
  if (depth === 0 || typeof value !== 'object' || value === null) return '';
  if (Array.isArray(value))
    return value
      .slice(0, 5)
      .map((item: unknown) => textIn(item, depth - 1))
      .filter(Boolean)
      .join(', ');
  const found = errorFields.map((name) => textIn(fieldOf(value, name), depth - 1)).filter(Boolean);
  return [...new Set(found)].slice(0, 2).join(': ');
}

function short(words: string): string {
  return printable(words.trim(), 200);
}

/** Makes texts of a service safe to show: each secret becomes `***`. */
export function createRedaction(secrets: readonly string[]): (words: string) => string {
  return (words) => withoutSecrets(words, secrets);
}

/** The accepted parts of messages that were not accepted as a whole. The next attempt sends the other parts. */
type AcceptedParts<Part> = {
  /** The delivered parts of a message; callers add to it. */
  readonly of: (messageId: string) => Set<Part>;
  readonly forget: (messageId: string) => void;
};

export function createAcceptedParts<Part>(): AcceptedParts<Part> {
  const known = new Map<string, Set<Part>>();
  return {
    of(id) {
      const taken = known.get(id) ?? new Set<Part>();
      putNewest(known, id, taken, maxUnfinished);
      return taken;
    },
    forget: (id) => void known.delete(id),
  };
}

/** Beyond this number, messages are sent again from the start. */
const maxUnfinished = 100;
