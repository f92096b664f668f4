import { isBusy } from '../../../domain/text/errors.ts';
import type { OutcomeKind, Session } from '../../../domain/run/session.ts';
import { exitCodes, type CommandContext, type CommandFunction, type ServedApi } from '../context/context.ts';
import { printLines } from '../render/print.ts';
import { createDemoOutput } from './demo-output.ts';

export type DemoEnvironment = {
  /** Publishes the releases of the next round and describes them, one line each. */
  readonly nextRound: () => readonly string[];
  readonly countContainers: () => { readonly containers: number; readonly running: number };
};

/** `upkeep demo`: the real service, in a simulated environment with new releases in every round. */
export function createDemo(stage: DemoEnvironment): CommandFunction {
  return async (context) => {
    const { settings, serve } = context;
    const { rounds = Number.POSITIVE_INFINITY } = settings.run;
    const teller = createDemoOutput(context);
    const sessions: Session[] = [];
    let played = 0;
    const api = await serve?.();
    if (settings.run.pageOnly && api !== undefined) printLines(context.terminal.out, [pageLine(api)]);
    teller.introduce([...(api === undefined ? [] : apiLines(api)), ...introduction]);
    try {
      while (played < rounds && (await isTimeForMore(context, played))) {
        played += 1;
        teller.round(played, stage.nextRound());
        const session = await playRound(context);
        if (session === undefined && !context.signal.aborted)
          teller.skip('An update requested over the API is under way; these releases wait for the next round');
        if (session !== undefined) sessions.push(session);
      }
    } finally {
      teller.conclude(conclusionOf(played, sessions, stage));
      await api?.stop();
    }
    return exitCodes.done;
  };
}

/**
 * Undefined when a client of the API has an update under way, or after a stop. The releases remain for the next round.
 */
async function playRound({ application, signal }: CommandContext): Promise<Session | undefined> {
  try {
    return await application.update({ images: [], containers: [], trigger: 'schedule' }, signal);
  } catch (error) {
    if (signal.aborted || isBusy(error)) return undefined;
    throw error;
  }
}

const introduction = [
  'This is Upkeep on an engine in memory: it touches no real container and no network.',
  'A home server gets new releases, some of them bad. Watch what is updated, what comes back, and why.',
  'Ctrl-C ends it. Also: upkeep demo --page; upkeep demo | cat; on a real engine: upkeep check.',
  '',
];

/** The line with the link. */
function pageLine({ address, page = address, tokens: { api, events } }: ServedApi): string {
  const other = events === api ? '' : ` and the events token ${events}`;
  return `${page}  sign in with the token ${api}${other}`;
}

function apiLines({ address, page = address, tokens: { api, events } }: ServedApi): readonly string[] {
  return [
    `Page: ${page}`,
    `API token: ${api}, events token: ${events}`,
    `For instance: curl -H "Authorization: Bearer ${api}" ${address}/v1/containers`,
    '',
  ];
}

/** Time to read the result of the round. */
const pauseMs = 3000;

async function isTimeForMore({ clock, signal }: CommandContext, played: number): Promise<boolean> {
  await clock.sleep(played === 0 ? 500 : pauseMs, signal).catch(() => undefined);
  return !signal.aborted;
}

function conclusionOf(played: number, sessions: readonly Session[], stage: DemoEnvironment): string {
  const outcomes = sessions.flatMap(({ containers }) => containers.map(({ outcome }) => outcome));
  const count = (...kinds: readonly OutcomeKind[]) => outcomes.filter((outcome) => kinds.includes(outcome)).length;
  const { containers, running } = stage.countContainers();
  const done = `Rounds: ${played}; replaced: ${count('updated', 'restarted')}; rolled back: ${count('rolled_back')}; failed: ${count('failed')}`;
  return `${done}; ${running} of ${containers} containers are running`;
}
