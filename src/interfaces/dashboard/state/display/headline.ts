import type { Shown } from '../address.ts';
import type { ContainerStore, UpdateProgress } from '../containers/container-store.ts';
import { clock, joinedWords, plural } from '../words.ts';
import type { Counts } from './arrange.ts';

/** The overall state: a title with an icon, and a sentence whose parts are filters. */
export type Headline = {
  readonly tone: 'fine' | 'bad' | 'busy' | 'past';
  readonly title: string;
  readonly parts: readonly Part[];
  /** The title of the browser tab. */
  readonly tab: string;
};

export type Part = { readonly text: string; readonly show?: Shown; readonly tone?: 'ready' | 'wrong' | 'bad' };

/** `pastMs`: the time of the last reading; undefined while the data is live. */
export function headlineOf(containers: ContainerStore, counts: Counts, pastMs: number | undefined): Headline {
  if (counts.all === 0)
    return { tone: 'past', title: 'Nothing is watched yet', parts: [nothing], tab: 'Nothing is watched · Upkeep' };
  if (containers.isRunning() && containers.inRun().length > 0 && pastMs === undefined) return busy(containers);
  const title = titleOf(counts, pastMs !== undefined);
  const tone = counts.down.length > 0 ? 'bad' : pastMs === undefined && counts.away === 0 ? 'fine' : 'past';
  return {
    tone,
    title: pastMs === undefined ? title : `At ${clock(pastMs)}, ${uncapital(title, counts)}`,
    parts: joined(news(counts), counts),
    tab: `${tabOf(counts) || title} · Upkeep`,
  };
}

const nothing: Part = { text: 'Upkeep runs and reaches the engine, but watches none of its containers.' };

function titleOf({ down, running, all, fine, away }: Counts, isPast: boolean): string {
  const be = (count: number) => (isPast ? (count === 1 ? 'was' : 'were') : count === 1 ? 'is' : 'are');
  if (down.length > 0) return `${firstOf(down)} ${be(down.length)} down`;
  if (away > 0) return `${plural(running, 'container')} ${be(running)} running, ${away} unreachable`;
  if (fine === all && running === all) return isPast ? 'Everything was up to date' : 'Everything is up to date';
  if (running < all) return `${running} of ${plural(all, 'container')} ${be(running)} running`;
  return all === 1 ? `The one container ${be(1)} running` : `All ${all} containers ${be(all)} running`;
}

/** `a, b, c and 2 more` */
function firstOf(all: readonly string[]): string {
  const more = all.length - maxNames;
  return joinedWords(more > 0 ? [...all.slice(0, maxNames), `${more} more`] : all);
}

const maxNames = 3;

/** A title that begins with a name keeps its first letter. */
function uncapital(title: string, { down }: Counts): string {
  return down.length > 0 ? title : title.charAt(0).toLowerCase() + title.slice(1);
}

function news({
  bad,
  interrupted,
  rolledBack,
  unknown,
  updatable,
  approval,
  held,
  unchecked,
}: Counts): readonly Part[] {
  const be = (count: number) => (count === 1 ? 'is' : 'are');
  const was = (count: number) => (count === 1 ? 'was' : 'were');
  const all: readonly (readonly [number, Part])[] = [
    [bad, { text: `${plural(bad, 'update')} failed`, show: 'wrong', tone: 'bad' }],
    [
      interrupted,
      { text: `${plural(interrupted, 'update')} ${was(interrupted)} interrupted`, show: 'wrong', tone: 'wrong' },
    ],
    [
      rolledBack,
      {
        text: `${plural(rolledBack, 'update')} failed and ${was(rolledBack)} rolled back`,
        show: 'wrong',
        tone: 'wrong',
      },
    ],
    [unknown, { text: `${unknown} could not be checked`, show: 'wrong', tone: 'wrong' }],
    [
      updatable.length,
      { text: `${plural(updatable.length, 'update')} ${be(updatable.length)} ready`, show: 'ready', tone: 'ready' },
    ],
    [
      approval,
      { text: `${approval} ${approval === 1 ? 'waits' : 'wait'} for your approval`, show: 'ready', tone: 'ready' },
    ],
    [held, { text: `${held} ${be(held)} held back`, show: 'held' }],
    [unchecked, { text: `${unchecked} ${unchecked === 1 ? 'has' : 'have'} not been checked yet`, show: 'unchecked' }],
  ];
  return all.flatMap(([count, part]) => (count > 0 ? [part] : []));
}

function joined(parts: readonly Part[], { all, running }: Counts): readonly Part[] {
  if (parts.length === 0)
    return [{ text: running === all ? `${plural(all, 'container')}, all running.` : 'No update is waiting.' }];
  const glue = (place: number) => (place === 0 ? '' : place === parts.length - 1 ? ' and ' : ', ');
  return [...parts.flatMap((part, place) => [{ text: glue(place) }, part]), { text: '.' }];
}

function tabOf({ wrong, ready }: Counts): string {
  return [wrong > 0 ? `${wrong} to look at` : '', ready > 0 ? plural(ready, 'update') : ''].filter(Boolean).join(', ');
}

function busy(containers: ContainerStore): Headline {
  const names = containers.inRun();
  const ended = names.filter((name) => containers.updateOf(name) === undefined).length;
  const doing = containers.isRollback() ? 'Rolling back' : 'Updating';
  const title = names.length === 1 ? `${doing} ${names[0]}` : `${doing}: ${ended} of ${names.length} done`;
  const steps = names.flatMap((name) => {
    const update = containers.updateOf(name);
    return update === undefined || update.phase === 'waiting' ? [] : [`${name} is ${phaseVerbs[update.phase]}`];
  });
  const sentence = firstOf(steps);
  const back = names.filter((name) => {
    const one = containers.named(name);
    return containers.updateOf(name) === undefined && one?.hold === 'failed';
  }).length;
  const parts: Part[] = sentence === '' ? [] : [{ text: `${sentence}. ` }];
  if (back > 0) parts.push({ text: `${back} rolled back or failed`, show: 'wrong', tone: 'wrong' }, { text: '.' });
  return { tone: 'busy', title, parts, tab: `${title} · Upkeep` };
}

const phaseVerbs: Readonly<Record<UpdateProgress['phase'], string>> = {
  waiting: 'waiting',
  pulling: 'being pulled',
  preparing: 'being created',
  stopping: 'stopping',
  'saving data': 'having its data copied',
  starting: 'starting',
  'checking health': 'having its health checked',
  committing: 'nearly done',
  'rolling back': 'rolling back',
  'restoring data': 'getting its data back',
};

/** The completed share of a run, from 0 to 1. Counts phases, because their durations are unknown. */
export function progressOf(containers: ContainerStore): number {
  const names = containers.inRun();
  const done = names.map((name) => shareOf(containers.updateOf(name)));
  return names.length === 0 ? 0 : done.reduce((sum, share) => sum + share, 0) / names.length;
}

function shareOf(update: UpdateProgress | undefined): number {
  if (update === undefined) return 1;
  if (update.phase === 'starting' && update.tasks !== undefined)
    return 0.1 + (0.85 * update.tasks.running) / Math.max(1, update.tasks.wanted);
  return update.phase === 'pulling' ? (0.4 * (update.percent ?? 0)) / 100 : weights[update.phase];
}

const weights: Readonly<Record<UpdateProgress['phase'], number>> = {
  waiting: 0,
  pulling: 0.1,
  preparing: 0.45,
  stopping: 0.5,
  'saving data': 0.55,
  starting: 0.6,
  'checking health': 0.75,
  committing: 0.95,
  'rolling back': 0.9,
  'restoring data': 0.92,
};
