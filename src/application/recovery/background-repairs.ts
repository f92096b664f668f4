import {
  keysOfRepaired,
  type RecoveredTransaction,
  type RecoveryReport,
  type ServiceEvent,
} from '../../domain/run/event.ts';
import { describeError, isBusy } from '../../domain/text/errors.ts';
import { beingRepaired } from '../../domain/recovery/leftovers.ts';
import type { Outside, Clock, Log } from '../../domain/outside/outside.ts';
import { putNewest } from '../../domain/text/plain-data.ts';

export type BackgroundRepairs = {
  /**
   * Begins a repair. Resolves with its result, or with `undefined` as soon as it waits for a container: `onEnd` gets the
   * result then. `signal` counts until then. `names`: of its containers.
   */
  readonly begin: (
    names: readonly string[],
    repair: Repair,
    onEnd: (result: RepairResult) => void,
    signal?: AbortSignal,
  ) => Promise<RepairResult | undefined>;
  /** Why containers with these names must not be updated now: their repair waits. */
  readonly whyNotNow: (names: readonly string[]) => string | undefined;
  /** Whether no more repairs may wait. */
  readonly isFull: () => boolean;
  /** Ends all waits: what is unproven is left to the next start. Resolves when the repairs have ended. */
  readonly close: () => Promise<void>;
};

export type RepairResult = RecoveredTransaction | 'handed over';

/** Never throws. `ending`: see `Outside`. `onWait`, `signal`: see `TransactOptions`. */
type Repair = (parts: {
  readonly ending: AbortSignal;
  readonly signal: AbortSignal;
  readonly onWait: () => void;
}) => Promise<RepairResult>;

/**
 * The repairs of a service that wait for containers. A repair holds the update lock while it renames, stops and starts
 * containers, but not while a new version proves itself, which may take an hour. It needs no lock afterwards: its
 * transaction and those of updates keep apart as those of several instances do.
 */
export function createBackgroundRepairs({ ending }: Pick<Outside, 'ending'>): BackgroundRepairs {
  const waiting = new Map<Promise<void>, { readonly names: readonly string[]; readonly leave: () => void }>();
  let isEnding = false;

  function endAll(): void {
    isEnding = true;
    for (const { leave } of waiting.values()) leave();
  }
  if (ending?.aborted) endAll();
  else ending?.addEventListener('abort', endAll, { once: true });

  return {
    async begin(names, repair, onEnd, signal) {
      const [stop, leaving] = [new AbortController(), new AbortController()];
      const pass = () => stop.abort(signal?.reason);
      if (signal?.aborted) pass();
      else signal?.addEventListener('abort', pass, { once: true });
      let isWaiting = false;
      let wait = () => {};
      const waits = new Promise<undefined>((resolve) => (wait = () => resolve(undefined)));
      const onWait = () => {
        if (isWaiting) return;
        isWaiting = true;
        // The request that has found the remains may end long before their repair.
        signal?.removeEventListener('abort', pass);
        wait();
      };
      const repaired = repair({ ending: leaving.signal, signal: stop.signal, onWait });
      const first = await Promise.race([repaired, waits]);
      signal?.removeEventListener('abort', pass);
      if (first !== undefined) return first;
      const leave = () => {
        leaving.abort();
        stop.abort();
      };
      const ended: Promise<void> = repaired.then((result) => {
        waiting.delete(ended);
        onEnd(result);
      });
      waiting.set(ended, { names, leave });
      if (isEnding) leave();
      return undefined;
    },
    whyNotNow(names) {
      const busy = [...waiting.values()].flatMap((one) => one.names).find((name) => names.includes(name));
      return busy && beingRepaired(busy);
    },
    isFull: () => waiting.size >= maxWaiting,
    close: async () => {
      endAll();
      await Promise.all(waiting.keys());
    },
  };
}

/** More than one run updates at a time. Each inspects its container every second at most. */
const maxWaiting = 100;

export type RepairNews = {
  /** The results to report. */
  readonly of: (transactions: readonly RecoveredTransaction[]) => readonly RecoveredTransaction[];
  /** The same for the results of all remains of containers, so that absent ones are over. */
  readonly ofAll: (transactions: readonly RecoveredTransaction[]) => readonly RecoveredTransaction[];
};

type RepairNewsParts = {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Whether a repair of containers with these names goes on in this process, so that no result shows it. */
  readonly isUnderWay: (names: readonly string[]) => boolean;
};

/**
 * A repair that fails is tried every minute. Each different reason is reported at once, and then once a day, until
 * someone or a repair has solved it, which is reported too. All else is reported once.
 */
export function createRepairNews({ clock, isUnderWay }: RepairNewsParts): RepairNews {
  /** By transaction and reason. */
  const reportedAtMs = new Map<string, number>();
  const open = new Map<string, RecoveredTransaction>();

  function isNews(transaction: RecoveredTransaction): boolean {
    const which = whichOf(transaction);
    if (transaction.isUnderWay) return false;
    if (isSettled(transaction)) {
      end(which);
      return true;
    }
    const isOpen = needsRepair(transaction);
    if (isOpen) putNewest(open, which, transaction, maxRemembered);
    const { result, isPending, reason } = transaction;
    const key = `${which} ${JSON.stringify([isPending, result === 'failed' ? reason : ''])}`;
    const lastMs = reportedAtMs.get(key);
    const nowMs = clock.monotonicMs();
    if (lastMs !== undefined && (!isOpen || nowMs - lastMs < remindAfterMs)) return false;
    putNewest(reportedAtMs, key, nowMs, maxRemembered);
    return true;
  }

  function end(which: string): void {
    open.delete(which);
    for (const key of reportedAtMs.keys()) if (key.startsWith(`${which} `)) reportedAtMs.delete(key);
  }

  return {
    of: (transactions) => transactions.filter(isNews),
    ofAll(transactions) {
      const news = transactions.filter(isNews);
      const present = new Set(transactions.map(whichOf));
      const gone = [...open].filter(
        ([which, { kind, containers }]) => kind === undefined && !present.has(which) && !isUnderWay(containers),
      );
      for (const [which] of gone) end(which);
      return [...news, ...gone.map(([, one]) => solved(one))];
    },
  };
}

/** Whether an earlier update has ended. */
export function isSettled({ result }: RecoveredTransaction): boolean {
  return result === 'finished' || result === 'undone' || result === 'solved';
}

function needsRepair({ result, isPending }: RecoveredTransaction): boolean {
  return result === 'failed' || isPending === true;
}

/** Only its container, its engine and its recipients are still true. */
function solved({ containers, engine, recipients }: RecoveredTransaction): RecoveredTransaction {
  return {
    containers,
    result: 'solved',
    reason: 'nothing of it is left to repair',
    ...(engine !== undefined && { engine }),
    ...(recipients && { recipients }),
  };
}

function whichOf(transaction: RecoveredTransaction): string {
  return JSON.stringify(keysOfRepaired(transaction));
}

/** A minute more than a day, so that the message of a day ago is certainly a day old. */
const remindAfterMs = 86_460_000;

/** More than an engine has containers whose names match by chance. */
const maxRemembered = 1000;

type RepairLoop = {
  /** There is something to repair. */
  readonly begin: () => void;
  /** `hasLeftovers` may have changed. */
  readonly noteLeftovers: () => void;
  /** Notices an update that could neither be finished nor undone. */
  readonly onEvent: (event: ServiceEvent) => void;
  /** Repairs until the signal aborts. Sleeps while there is nothing to repair. Never throws. */
  readonly run: (signal: AbortSignal) => Promise<void>;
};

type RepairParts = {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
  readonly repair: (signal: AbortSignal) => Promise<Pick<RecoveryReport, 'transactions'>>;
  /** Whether there are containers that a repair removes as soon as a proxy permits it. */
  readonly hasLeftovers: () => boolean;
};

/**
 * The next run of a service may be a day away, and a container may be down until then. So a service tries again by
 * itself: first after seconds, then less and less often, but once a minute at least, until everything is repaired.
 */
export function createRepairLoop({ clock, log, repair, hasLeftovers }: RepairParts): RepairLoop {
  let isPending = false;
  let hadLeftovers = false;
  let wake = () => {};

  function begin(): void {
    isPending = true;
    wake();
  }

  async function untilPending(signal: AbortSignal): Promise<void> {
    if (isPending || signal.aborted) return;
    const woken = new AbortController();
    wake = () => woken.abort();
    const ends = AbortSignal.any([signal, woken.signal]);
    if (hasLeftovers()) await clock.sleep(maxPauseMs, ends).catch(() => undefined);
    else await new Promise<void>((resolve) => ends.addEventListener('abort', () => resolve(), { once: true }));
  }

  async function repairAll(signal: AbortSignal): Promise<void> {
    for (let attempt = 0; isPending && !signal.aborted; attempt += 1) {
      const pauseMs = Math.min(maxPauseMs, firstPauseMs * 2 ** attempt);
      await clock.sleep(pauseMs, signal).catch(() => undefined);
      if (!signal.aborted) await repairOnce(signal);
    }
  }

  async function repairOnce(signal: AbortSignal): Promise<void> {
    try {
      const { transactions } = await repair(signal);
      isPending = transactions.some(isOpen);
      for (const { containers, result, reason } of transactions)
        if (result === 'finished' || result === 'undone')
          log.info('An interrupted update was repaired', { containers, result, reason });
    } catch (error) {
      if (signal.aborted) return;
      const level = isBusy(error) ? 'debug' : 'warn';
      log[level]('An interrupted update could not be repaired, and is tried again', { error: describeError(error) });
    }
  }

  return {
    begin,
    noteLeftovers() {
      const has = hasLeftovers();
      if (has && !hadLeftovers) wake();
      hadLeftovers = has;
    },
    onEvent(event) {
      if (event.kind === 'scan_completed' && event.session?.containers.some((one) => one.isUnfinished)) begin();
      if (event.kind === 'earlier_updates_settled' && event.transactions.some(isOpen)) begin();
    },
    async run(signal) {
      while (!signal.aborted) {
        await untilPending(signal);
        if (!isPending && !signal.aborted && hasLeftovers()) await repairOnce(signal);
        await repairAll(signal);
      }
    },
  };
}

const firstPauseMs = 5000;
/** With the time of one attempt it is less than a minute. */
const maxPauseMs = 40_000;

/** One without a seal waits for a person. */
function isOpen({ result, isPending, reason }: RecoveredTransaction): boolean {
  return result === 'failed' || (isPending === true && reason.startsWith('repair pending'));
}
