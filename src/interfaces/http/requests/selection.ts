import type { EngineState } from '../../../domain/outside/engine.ts';
import { matchesReference, tryParseImageReference } from '../../../domain/image/image-reference.ts';
import { parseDuration } from '../../../domain/text/duration.ts';
import { sizeOfPatterns } from '../../../domain/text/name-pattern.ts';
import { HttpError } from '../replies/errors.ts';
import { list, text, unlisted, type Parameter } from './request.ts';
import { setMaxListeners } from 'node:events';
import type { Clock } from '../../../domain/outside/outside.ts';
import { ServiceError } from '../../../domain/text/errors.ts';

/** Parameters that select the containers of a check or an update. */
export const selectionParameters = {
  image: refusing(
    list('Only containers of these images, separated by commas, at most 100. An image without a tag means any tag'),
    tooMany,
  ),
  container: refusing(
    list(
      'Only containers of these names, separated by commas, at most 100. A name may be a regular expression that matches the whole name',
    ),
    tooMany,
    tooLarge,
  ),
} as const;

/** Milliseconds, at most the option's value, which also applies when it is not given or invalid. */
export function timeoutUpTo(maxMs: number): Parameter<number> {
  return {
    documentation: {
      type: 'string',
      description: 'Timeout, such as 30s or 2m; at most the value of the option of the service',
    },
    read: ([first = '']) => {
      const requested = /\s/.test(first) ? undefined : parseDuration(first);
      return Math.min(requested || maxMs, maxMs);
    },
  };
}

type ListParameter = Parameter<readonly string[]>;

type Fault = (items: readonly string[], given: readonly string[]) => string | false;

/** The same parameter, but values with a fault are refused with 400. */
function refusing({ documentation, read }: ListParameter, ...faults: readonly Fault[]): ListParameter {
  return {
    documentation,
    read: (given, name) => {
      const items = read(given, name);
      for (const faultOf of faults) {
        const fault = faultOf(items, given);
        if (fault !== false) throw new HttpError(400, `invalid query parameter "${name}": ${fault}`);
      }
      return items;
    },
  };
}

function tooMany({ length }: readonly string[]): string | false {
  return length > maxItems && `at most ${maxItems} can be given`;
}

const maxItems = 100;

/** Compiling and matching patterns blocks the event loop. */
function tooLarge(items: readonly string[]): string | false {
  return sizeOfPatterns(items) > maxPatterns && 'the patterns are too large together';
}

/** Instructions of all patterns of a request together: a hundred short patterns, or two of the largest size. */
const maxPatterns = 3000;

/** The parameter of routes about containers. */
export const engineParameter = {
  engine: unlisted(refusing(list('Of several engines, only these; separated by commas, and repeatable'), isEmpty)),
} as const;

/** `engine=` may come from an unset variable. Ignoring it would include all engines. */
function isEmpty(items: readonly string[], given: readonly string[]): string | false {
  return given.length > 0 && items.length === 0 && 'it is empty';
}

/**
 * The engines of a request; empty: all. Throws 400 for an unknown name, because ignoring it would include all engines.
 */
export function enginesIn(
  { engine: names }: { readonly engine: readonly string[] },
  { engines }: { readonly engines?: () => readonly Pick<EngineState, 'name'>[] },
): readonly string[] {
  if (names.length === 0) return names;
  if (engines === undefined)
    throw new HttpError(400, 'invalid query parameter "engine": this service works on one engine alone; leave it out');
  const known = new Set(engines().map(({ name }) => name));
  if (names.some((name) => !known.has(name)))
    throw new HttpError(400, `invalid query parameter "engine": ${noSuchEngine([...known])}`);
  return names;
}

/**
 * Without the words of the caller: they are hidden in a sentence if they are the name of a container that the caller may
 * not see, which would tell that there is one.
 */
export function noSuchEngine(known: readonly string[]): string {
  const more = known.length > maxEngines ? `, and ${known.length - maxEngines} more` : '';
  return `no engine is called that; the engines are ${known.slice(0, maxEngines).join(', ')}${more}`;
}

const maxEngines = 20;

/** Filters of a list of containers. */
export const containerParameters = {
  name: text('Only the container with exactly this name'),
  image: text('Only containers of this image; without a tag, any tag'),
} as const;

type Wanted = { readonly name: string | undefined; readonly image: string | undefined };

type Shown = { readonly name: string; readonly image: string; readonly engine?: string };

/** Undefined if every container passes. */
export function containerFilter(
  { name, image }: Wanted,
  engines: readonly string[],
): ((container: Shown) => boolean) | undefined {
  if (name === undefined && image === undefined && engines.length === 0) return undefined;
  return (container) =>
    isOnOneOf(engines, container) &&
    (name === undefined || container.name === name) &&
    (image === undefined || isOfImage(container.image, image));
}

/** Whether something is on one of these engines; empty: on any. */
export function isOnOneOf(engines: readonly string[], { engine }: { readonly engine?: string }): boolean {
  return engines.length === 0 || (engine !== undefined && engines.includes(engine));
}

/** Whether a filter matches the shown image reference. A malformed filter matches nothing. */
export function isOfImage(shown: string, filter: string): boolean {
  const reference = tryParseImageReference(shown);
  return reference !== undefined && matchesReference(filter, reference);
}

/** A signal that aborts after a time, or when it is cancelled. */
type Deadline = {
  readonly signal: AbortSignal;
  readonly hasPassed: () => boolean;
  /** Aborts the signal with the reason, unless it is already aborted. */
  readonly abort: (reason: ServiceError) => void;
  /** Rejects when the time has passed; never settles otherwise. */
  readonly passed: Promise<never>;
  /** Stops the clock when the work has ended. */
  readonly clear: () => void;
};

/** `action` completes the message "Cannot …": `update`. */
export function startDeadline(clock: Clock, ms: number, action: string): Deadline {
  const controller = new AbortController();
  // Every engine of a run listens.
  setMaxListeners(0, controller.signal);
  const timer = new AbortController();
  let isPassed = false;
  const passed = new Promise<never>((_, reject) => {
    clock.sleep(ms, timer.signal).then(
      () => {
        isPassed = true;
        const error = new ServiceError('timeout', `Cannot ${action}: it did not end in time`);
        controller.abort(error);
        reject(error);
      },
      () => undefined,
    );
  });
  // Without a race against it, the rejection would count as unhandled.
  passed.catch(() => undefined);
  return {
    signal: controller.signal,
    hasPassed: () => isPassed,
    abort: (reason) => controller.abort(reason),
    passed,
    clear: () => timer.abort(new ServiceError('cancelled', 'Cannot wait: the work has ended')),
  };
}
