import { nearest } from '../../domain/text/name-pattern.ts';
import { describeError } from '../../domain/text/errors.ts';
import {
  splitLine,
  splitUrls,
  type Target,
  type Message,
  type SendOutcome,
} from '../../domain/notification/message.ts';
import { printable } from '../../domain/text/printable.ts';
import { homeAssistantParameters, readHomeAssistant, type HomeAssistantSettings } from './home-assistant/url.ts';
import type { NotifyDeps, ReadTarget, Service, Delivery, Part } from './service/service.ts';
import { serviceOf, services } from './services/table.ts';
import type { ParameterTable } from './service/parameters.ts';
import { readParts, InvalidUrlError, toServiceUrl } from './service/url.ts';
import { createExchange, Refused, type Exchange } from './service/exchange.ts';
import { readFileSync, statSync } from 'node:fs';
import { orAborted } from '../../domain/concurrency.ts';
import { formatDuration } from '../../domain/text/duration.ts';
import {
  expectAccepted,
  createAcceptedParts,
  createRedaction,
  answerText,
  type AnswerCheck,
} from './service/answer.ts';

export type ParsedTargets = {
  readonly targets: readonly Target[];
  /** Home Assistants show containers and get no messages. openHomeAssistant() connects them. */
  readonly homeAssistants: readonly HomeAssistantSettings[];
  /** Why some values cannot be used: one sentence each, without secrets. */
  readonly problems: readonly string[];
  /** Warnings about values that are used nevertheless. */
  readonly warnings: readonly string[];
};

/**
 * The targets of an option's values. A value is one or more URLs, each with an optional name (`ops=discord://…`), or
 * the path of a file with one URL per line. Nothing is connected before the first message.
 */
export function parseTargets(values: readonly string[], deps: NotifyDeps): ParsedTargets {
  const targets: Target[] = [];
  const problems: string[] = [];
  const warnings: string[] = [];
  const homeAssistants: HomeAssistantSettings[] = [];
  const exchange = createExchange(deps);
  const names = new Set<string>();
  const written = expanded(values, problems);
  const reserved = new Set(written.map(({ name }) => name));
  for (const [index, one] of written.entries()) {
    const where = `notification target ${one.name === undefined ? index + 1 : `"${one.name}"`}`;
    const outcome = readTarget(one.url);
    if (outcome.kind === 'unusable') {
      problems.push(`Cannot use ${where}: ${outcome.why}`);
      continue;
    }
    if (outcome.kind === 'home assistant') {
      homeAssistants.push(outcome.settings);
      const { unknownKeys: keys } = outcome.settings;
      if (keys.length > 0) warnings.push(unknownKeys('homeassistant', keys, homeAssistantParameters));
      continue;
    }
    const { service, scheme, read } = outcome;
    if (one.name !== undefined && names.has(one.name)) {
      problems.push(`Cannot use ${where}: another target has that name`);
      continue;
    }
    const name = one.name ?? freeName(scheme, (taken) => names.has(taken) || reserved.has(taken));
    names.add(name);
    if (read.unknownKeys.length > 0)
      warnings.push(unknownKeys(`${scheme} "${name}"`, read.unknownKeys, service.parameters));
    warnings.push(...read.faults.map((fault) => wrongValue(`${scheme} "${name}"`, fault)));
    const naming = { name, service: scheme, wantsRunStart: service.wantsRunStart === true };
    targets.push(openTarget(read, naming, exchange, deps));
  }
  return { targets, homeAssistants, problems, warnings };
}

type Outcome =
  | { readonly kind: 'usable'; readonly scheme: string; readonly service: Service; readonly read: ReadTarget }
  | { readonly kind: 'home assistant'; readonly settings: HomeAssistantSettings }
  | { readonly kind: 'unusable'; readonly why: string };

/** Never throws. Its messages contain no part of the URL except the scheme. */
export function readTarget(url: string): Outcome {
  let scheme = '';
  let hint = '';
  try {
    const parts = readParts(toServiceUrl(url));
    ({ scheme } = parts);
    if (scheme === 'homeassistant') return { kind: 'home assistant', settings: readHomeAssistant(parts) };
    const service = serviceOf(scheme);
    if (service === undefined) return { kind: 'unusable', why: unknownService(scheme) };
    if (parts.variant !== '' && service.variants?.includes(parts.variant) !== true)
      return { kind: 'unusable', why: `${scheme}: its scheme allows nothing after a +` };
    hint = `; the form is ${service.form}`;
    return { kind: 'usable', scheme, service, read: service.read(parts) };
  } catch (error) {
    if (!(error instanceof InvalidUrlError))
      return { kind: 'unusable', why: `${shownScheme(scheme)}: it cannot be read` };
    const about = scheme === '' ? '' : `${scheme}: `;
    return { kind: 'unusable', why: `${about}${error.message}${hint}` };
  }
}

function expanded(values: readonly string[], problems: string[]): readonly NamedUrl[] {
  return values.flatMap((value) => {
    try {
      return splitTargetUrls(value);
    } catch (error) {
      problems.push(`Cannot read the file of notification targets: ${printable(describeError(error), 200)}`);
      return [];
    }
  });
}

/** The scheme itself, with a number if that name is taken. */
function freeName(scheme: string, isTaken: (name: string) => boolean): string {
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? scheme : `${scheme}-${count}`;
    if (!isTaken(name)) return name;
  }
}

/** Schemes of Apprise for services with another scheme here: https://github.com/caronc/apprise/wiki */
const otherNames: ReadonlyMap<string, string> = new Map([
  ['tgram', 'telegram'],
  ['mailto', 'smtp'],
  ['mailtos', 'smtp'],
  ['pover', 'pushover'],
  ['gotifys', 'gotify'],
  ['ntfys', 'ntfy'],
  ['msteams', 'teams'],
  ['mmost', 'mattermost'],
  ['rocket', 'rocketchat'],
  ['json', 'generic'],
]);

function unknownService(scheme: string): string {
  if (scheme === 'xmpp') return 'xmpp is not supported, as in the usual builds of Shoutrrr';
  const known = services.flatMap(({ schemes }) => schemes).toSorted();
  const meant = otherNames.get(scheme) ?? nearest(scheme, known, 0.34);
  if (meant !== undefined) return `${shownScheme(scheme)} is no service; did you mean ${meant}://?`;
  return `${shownScheme(scheme)} is no service; the services are ${known.join(', ')}`;
}

/** A text that is not a plain word may be a misplaced secret. */
function shownScheme(scheme: string): string {
  return /^[a-z]{1,20}$/.test(scheme) ? `"${scheme}"` : 'its scheme';
}

function wrongValue(what: string, fault: string): string {
  return `Notification target ${what}: ${fault} in its URL, so its default counts`;
}

function unknownKeys(what: string, keys: readonly string[], parameters: ParameterTable): string {
  const isWord = keys.every((key) => /^[a-z_]{1,24}$/i.test(key));
  const shown = isWord ? keys.map((key) => `"${key}"`).join(', ') : 'some keys';
  const verb = isWord && keys.length === 1 ? 'is' : 'are';
  const known = Object.keys(parameters).join(', ');
  return `Notification target ${what}: ${shown} in its URL ${verb} ignored${known === '' ? '' : `; its keys are ${known}`}`;
}

/** One URL as the user wrote it, with its name. */
type NamedUrl = { readonly name: string | undefined; readonly url: string };

/**
 * The URLs in a value of an option: see `splitUrls`. A value that names a file is replaced by its lines, each with a
 * target, where `#` begins a comment. Throws the file's error.
 */
function splitTargetUrls(value: string): readonly NamedUrl[] {
  const path = value.trim();
  const urls = isFile(path) ? linesOf(path).flatMap(splitLine) : splitUrls(value);
  return urls.map(named);
}

function named(text: string): NamedUrl {
  const [, name, url = text] = /^([a-z0-9][\w.-]{0,62})=([a-z][a-z0-9.+-]*:\/\/.*)$/is.exec(text) ?? [];
  return { name, url };
}

function isFile(path: string): boolean {
  if (path === '' || path.includes('://') || path.includes('\0')) return false;
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** A file of a megabyte is not a list of URLs. */
const maxFile = 1_048_576;

function linesOf(path: string): readonly string[] {
  if (statSync(path).size > maxFile) throw new Error(`the file is larger than ${maxFile} bytes`);
  return readFileSync(path, 'utf8')
    .replace(/^\uFEFF/, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

type Naming = Pick<Target, 'name' | 'service' | 'wantsRunStart'>;

/** A target that sends. After a message was accepted in part, the next attempt sends the other parts. */
function openTarget(read: ReadTarget, naming: Naming, exchange: Exchange, deps: NotifyDeps): Target {
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
