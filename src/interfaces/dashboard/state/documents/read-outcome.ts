import { nameIn } from './unique-name.ts';
import { outcomeKinds, type PastOutcome } from './container.ts';
import { type Json, numberOf, numbersOf, oneOf, textOf, timeOf } from './reading.ts';

/** An outcome of a container from history or details. An unknown kind is not a success, so it reads as `unknown`. */
export function readOutcome(json: Json): PastOutcome {
  return {
    name: nameIn(json),
    outcome: oneOf(outcomeKinds, json['outcome']) ?? 'unknown',
    atMs: timeOf(json['at']),
    from: textOf(json['from']),
    to: textOf(json['to']),
    reason: textOf(json['reason']),
    downtimeMs: numberOf(json['downtime_ms']),
    phasesMs: numbersOf(json['phases_ms']),
    log: textOf(json['log']),
  };
}
