import {
  type Finding,
  findingOf,
  findingOfRepair,
  isAlwaysNews,
  isNews,
  keyOfRepaired,
} from '../../domain/notification/findings.ts';
import type { ContainerOutcome } from '../../domain/run/session.ts';
import type { RecoveredTransaction } from '../../domain/run/recovery-report.ts';
import type { Delivery } from './delivery.ts';

/** The items to report, and the keys of the new findings among them. */
export type News<Item> = { readonly reported: readonly Item[]; readonly keys: readonly string[] };

type Find<Item> = (items: readonly Item[]) => News<Item>;

type NewsParts = Pick<Delivery, 'foundAtMs'> & { readonly nowMs: () => number; readonly repeat: boolean };

/** Omits findings that were reported before, unless they are to be repeated. */
export function createNewsFinder({ foundAtMs, nowMs, repeat }: NewsParts): {
  readonly inRun: Find<ContainerOutcome>;
  readonly inRepairs: Find<RecoveredTransaction>;
} {
  function find<Item>(
    items: readonly Item[],
    findIn: (item: Item) => Finding | undefined,
    isAlways: (item: Item) => boolean,
  ): News<Item> {
    const keys: string[] = [];
    const reported = items.filter((item) => {
      const finding = findIn(item);
      const isNew = finding !== undefined && isNews(finding, foundAtMs(finding.key), nowMs());
      if (isNew) keys.push(finding.key);
      return isNew || isAlways(item) || (finding !== undefined && repeat);
    });
    return { reported, keys };
  }

  return {
    inRun: (containers) => find(containers, findingOf, isAlwaysNews),
    inRepairs(transactions) {
      const { reported, keys } = find(
        transactions.filter(({ looksAlike }) => !looksAlike),
        findingOfRepair,
        (transaction) => {
          const finding = findingOfRepair(transaction);
          if (finding === undefined) return true;
          const endedAtMs = foundAtMs(keyOfRepaired(transaction));
          return endedAtMs !== undefined && endedAtMs >= (foundAtMs(finding.key) ?? 0);
        },
      );
      const open = reported.flatMap((one) => findingOfRepair(one)?.key ?? keyOfRepaired(one));
      return { reported, keys: [...new Set([...keys, ...open])] };
    },
  };
}
