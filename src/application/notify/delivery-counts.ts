import type { Target } from '../../domain/notification/message.ts';
import type { TargetCounts } from '../../domain/notification/status.ts';

export type DeliveryCounts = {
  readonly noteSent: (target: Named, atMs: number) => void;
  readonly noteFailed: (target: Named, atMs: number, reason: string, then: 'retry' | 'failed') => void;
  readonly noteLost: (target: Named) => void;
  readonly of: (target: Named) => TargetCounts;
};

type Named = Pick<Target, 'name'>;

export function createDeliveryCounts(): DeliveryCounts {
  const all = new Map<string, TargetCounts>();
  const of = ({ name }: Named) => all.get(name) ?? none;
  const note = (target: Named, change: Partial<TargetCounts>) =>
    void all.set(target.name, { ...of(target), ...change });
  return {
    noteSent: (target, atMs) => note(target, { sent: of(target).sent + 1, lastSentAtMs: atMs, lastFailure: undefined }),
    noteFailed(target, atMs, reason, then) {
      const { retried, failed } = of(target);
      const counted = then === 'retry' ? { retried: retried + 1 } : { failed: failed + 1 };
      note(target, { ...counted, lastFailure: { atMs, reason } });
    },
    noteLost: (target) => note(target, { lost: of(target).lost + 1 }),
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
