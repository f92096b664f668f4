import type { TargetCounts } from '../../domain/notification/message.ts';

/** The counts of all targets, by their names. */
export type DeliveryCounts = {
  readonly noteSent: (name: string, atMs: number) => void;
  readonly noteFailed: (name: string, atMs: number, reason: string, then: 'retry' | 'failed') => void;
  readonly noteLost: (name: string) => void;
  readonly of: (name: string) => TargetCounts;
};

export function createDeliveryCounts(): DeliveryCounts {
  const all = new Map<string, TargetCounts>();
  const of = (name: string) => all.get(name) ?? none;
  const note = (name: string, change: Partial<TargetCounts>) => void all.set(name, { ...of(name), ...change });
  return {
    noteSent: (name, atMs) => note(name, { sent: of(name).sent + 1, lastSentAtMs: atMs, lastFailure: undefined }),
    noteFailed(name, atMs, reason, then) {
      const { retried, failed } = of(name);
      const counted = then === 'retry' ? { retried: retried + 1 } : { failed: failed + 1 };
      note(name, { ...counted, lastFailure: { atMs, reason } });
    },
    noteLost: (name) => note(name, { lost: of(name).lost + 1 }),
    of,
  };
}

const none: TargetCounts = {
  sent: 0,
  retried: 0,
  failed: 0,
  lost: 0,
  lastSentAtMs: undefined,
  lastFailure: undefined,
};
