import { defined } from '../../../domain/text/plain-data.ts';
import { type ErrorCode, ServiceError } from '../../../domain/text/errors.ts';
import type { EngineRun, Request, Session, ContainerOutcome } from '../../../domain/run/session.ts';
import type { TrackedContainer } from '../../../domain/inventory.ts';
import { namePattern } from '../../../domain/text/name-pattern.ts';
import type { CheckReport } from '../../check/check.ts';
import type { ReachedMember } from '../member/member.ts';
import type { Answer } from './each-engine.ts';
import { unmatchedEverywhere } from './engine-filters.ts';
import { isDigest } from '../../../domain/image/image-reference.ts';
import type { CheckedContainer } from '../../check/checked-container.ts';

/** In configured order, independent of the waves. */
export function inOrder<Result>(
  answers: readonly Answer<Result>[],
  meant: readonly ReachedMember[],
): readonly Answer<Result>[] {
  const indexes = new Map(meant.map(({ name }, index) => [name, index]));
  const indexOf = ({ member }: Answer<Result>) => indexes.get(member.name) ?? 0;
  return answers.toSorted((one, other) => indexOf(one) - indexOf(other));
}

/** One result for each engine. An engine with the services of a swarm has two answers; the worse one counts. */
export function runsOf(answers: readonly Answer<unknown>[]): readonly EngineRun[] {
  const runs = new Map<string, EngineRun>();
  for (const { run } of answers) {
    const { name, durationMs } = run;
    const before = runs.get(name);
    const worse = before === undefined || before.result === 'ran' ? run : before;
    runs.set(name, { ...worse, durationMs: Math.max(durationMs, before?.durationMs ?? 0) });
  }
  return [...runs.values()];
}

/** Whether at least one engine was worked on. An engine without a container of the request counts. */
export function hasRun(answers: readonly Answer<unknown>[]): boolean {
  return answers.some(({ run }) => run.result === 'ran');
}

/** The error of a single engine, or of the first one if all are busy; else all reasons with their engines. */
export function failureOfAll(answers: readonly Answer<unknown>[], verb: string): unknown {
  const [first] = answers;
  const isBusy = ({ run }: Answer<unknown>) => run.result === 'busy';
  if (answers.length < 2 || answers.every(isBusy)) return first?.error;
  const runs = runsOf(answers);
  const all = runs.slice(0, mostNamed).map(({ name, error }) => `${name}: ${error}`);
  const more = runs.length > mostNamed ? `; and ${runs.length - mostNamed} more` : '';
  const message = `Cannot ${verb}: no engine could be worked on: ${all.join('; ')}${more}`;
  return new ServiceError(answers.some(isBusy) ? 'busy' : firstCode(answers), message);
}

function firstCode(answers: readonly Answer<unknown>[]): ErrorCode {
  const failure = answers.map(({ error }) => error).find((error) => error instanceof ServiceError);
  return failure?.code ?? 'engine-unreachable';
}

const mostNamed = 5;

/** The containers of the last listing, for an engine that could not be worked on. */
function lastListed({ member }: Answer<unknown>, { containers, images }: Request): readonly TrackedContainer[] {
  const patterns = containers.map(namePattern);
  const isMeant = ({ name }: TrackedContainer) => patterns.length === 0 || patterns.some((means) => means(name));
  return images.length > 0 ? [] : member.application.inventory().containers.filter(isMeant);
}

/** The outcomes of one engine. If it could not be worked on, they are `unknown`. */
export function outcomesOf(answer: Answer<Session | undefined>, request: Request): readonly ContainerOutcome[] {
  const { member, run, result } = answer;
  const { name: engine } = member;
  if (run.result === 'ran') return (result?.containers ?? []).map((one) => ({ ...one, engine }));
  return lastListed(answer, request).map(({ id, name, image, imageId, digest, kind }) => ({
    name,
    engine,
    containerId: id,
    image,
    outcome: 'unknown',
    reason: run.error ?? '',
    oldImageId: imageId,
    newImageId: '',
    oldDigest: digest,
    newDigest: '',
    ...defined({ kind }),
  }));
}

/** The reports of all engines as one. Engines without a report are included with their last listing. */
export function reportOf(
  answers: readonly Answer<CheckReport>[],
  request: Request,
  times: Pick<CheckReport, 'startedAtMs' | 'durationMs'>,
): CheckReport {
  const reports = answers.flatMap(({ member, result }) =>
    result === undefined ? [] : [{ engine: member.name, report: result }],
  );
  const tagged = <Item>(list: (report: CheckReport) => readonly Item[]) =>
    reports.flatMap(({ engine, report }) => list(report).map((item) => ({ ...item, engine })));
  return {
    containers: answers.flatMap((answer) =>
      answer.result === undefined
        ? uncheckedContainers(answer, request)
        : answer.result.containers.map((one) => ({ ...one, engine: answer.member.name })),
    ),
    unmatched: unmatchedEverywhere(reports.map(({ report }) => report.unmatched)),
    unwatched: tagged(({ unwatched }) => unwatched),
    unfinished: tagged(({ unfinished }) => unfinished),
    obsoleteFailures: tagged(({ obsoleteFailures }) => obsoleteFailures),
    ...times,
    engines: runsOf(answers),
  };
}

/** The containers of an engine without a report, from its last listing: `unknown`, with the reason. */
function uncheckedContainers(answer: Answer<unknown>, request: Request): readonly CheckedContainer[] {
  const { member, run } = answer;
  const { error: reason = '' } = run;
  return lastListed(answer, request).map(({ id, name, image, imageId, digest, version, kind }) => ({
    id,
    name,
    engine: member.name,
    image,
    reference: image,
    successorReference: image,
    imageId,
    digest: isDigest(digest) ? digest : undefined,
    status: 'unknown',
    reason,
    updateAvailable: false,
    error: reason,
    latestDigest: undefined,
    latestImageId: undefined,
    pullDigest: undefined,
    eligibleAtMs: undefined,
    failedVersion: undefined,
    ...defined({ version, kind }),
  }));
}
