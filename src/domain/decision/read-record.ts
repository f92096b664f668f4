import { isDigest } from '../reference/digest.ts';
import { printable } from '../text/printable.ts';
import type { Decision, DecisionKind } from './decision.ts';
import type { DecisionRecord } from './decisions.ts';

/** Reads a record of the file. Undefined for any other value. Texts are cut to a length that a page can show. */
export function readDecisionRecord(value: unknown): DecisionRecord | undefined {
  if (!isObject(value)) return undefined;
  if (value['kind'] === 'ended') {
    const { container, id } = value;
    return isText(container) && isText(id) ? { kind: 'ended', container, id } : undefined;
  }
  const decision = value['kind'] === 'decided' ? readDecision(value['decision']) : undefined;
  return decision && { kind: 'decided', decision };
}

const kinds: readonly DecisionKind[] = ['approve', 'skip', 'snooze'];

function readDecision(value: unknown): Decision | undefined {
  if (!isObject(value)) return undefined;
  const { id, container, digest, tag, by, atMs, untilMs } = value;
  const kind = kinds.find((each) => each === value['kind']);
  if (kind === undefined || !isText(id) || !isText(container) || typeof digest !== 'string' || !isDigest(digest))
    return undefined;
  if (!isText(by) || !isTime(atMs) || (untilMs !== undefined && !isTime(untilMs))) return undefined;
  if (kind === 'snooze' && untilMs === undefined) return undefined;
  const shownTag = isText(tag) ? printable(tag, 128) : undefined;
  return { id, kind, container, digest, tag: shownTag, by: printable(by, 200), atMs, untilMs };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= longestText;
}

const longestText = 1000;

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
