import type { Incoming } from '../mqtt/connection.ts';
import { wildcardLevel, type Topics } from './topics.ts';

export type CommandOptions = {
  readonly topics: Topics;
  /** The container with the slug; undefined without one. */
  readonly containerOf: (slugged: string) => string | undefined;
  readonly nowMs: () => number;
  readonly onInstall: (container: string) => void;
  readonly onCheck: () => void;
};

/** Reads messages of the broker. Everything that is not a current command is ignored. */
export function createCommands(options: CommandOptions): (message: Incoming) => void {
  const { topics, containerOf, nowMs, onInstall, onCheck } = options;
  const lastAtMs = new Map<string, number>();
  let looks = { sinceMs: -Infinity, count: 0 };
  return ({ topic, payload, isRetained }) => {
    // A retained command would be repeated with every connection.
    if (isRetained) return;
    if (topic === topics.check) {
      if (payload === 'check' && isDue(topic)) onCheck();
      return;
    }
    const slugged = wildcardLevel(topics.anyInstall, topic);
    if (slugged === undefined || payload !== 'install' || !mayLook()) return;
    const container = containerOf(slugged);
    if (container !== undefined && isDue(container)) onInstall(container);
  };

  /** Looking for a container takes time, and a broker can send any number of commands. */
  function mayLook(): boolean {
    const now = nowMs();
    if (now - looks.sinceMs >= 1000 || now < looks.sinceMs) looks = { sinceMs: now, count: 0 };
    looks.count += 1;
    return looks.count <= maxLooksPerSecond;
  }

  /** At most one command for each container in 30 s. */
  function isDue(key: string): boolean {
    const now = nowMs();
    if (now - (lastAtMs.get(key) ?? -Infinity) < betweenMs) return false;
    if (lastAtMs.size >= mostKnown) lastAtMs.clear();
    lastAtMs.set(key, now);
    return true;
  }
}

/** More buttons than a person presses. */
const maxLooksPerSecond = 100;

const betweenMs = 30_000;
const mostKnown = 10_000;
