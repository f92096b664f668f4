import type { Application } from '../../../application/application.ts';
import { refuseUnmatched } from '../../../domain/check/selection.ts';
import type { Decision, DecisionFault, DecisionRequest } from '../../../domain/decision/decisions.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import { type Digest, parseDigest } from '../../../domain/image/image-reference.ts';
import type { JsonObject } from '../../../domain/text/json.ts';
import type { RunningService } from '../../../domain/run/event.ts';
import { namePattern } from '../../../domain/text/name-pattern.ts';
import { defined } from '../../../domain/text/plain-data.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { parseTimestamp, toTimestamp } from '../../json/timestamps.ts';
import { engineOf, listOf, otherService, rawTextOf } from './read-views.ts';

/** `isKept` false: the decision is not stored, and ends with its process. */
export type KeptDecision = Decision & { readonly isKept: boolean };

/** A named container with the version that it waits for. */
export type DecisionCandidate = {
  readonly name: string;
  /** Present with several engines. */
  readonly engine?: string;
  readonly digest: Digest | undefined;
  /** The versions now and after the update, where they are known. */
  readonly from?: string;
  readonly to?: string;
};

/** `engines`: only these; empty: all. */
type CandidateQuery = { readonly names: readonly string[]; readonly engines: readonly string[] };

/** Makes decisions: in this process, with the file that it shares with a service, or in a running service. */
export type DecisionSource = {
  /** The named containers with their candidates. Throws `not-found` for a name without a container. */
  readonly candidates: (query: CandidateQuery, signal: AbortSignal) => Promise<readonly DecisionCandidate[]>;
  readonly take: (request: DecisionRequest, signal: AbortSignal) => Promise<KeptDecision | DecisionFault>;
  /** The decisions of these engines; empty: of all. */
  readonly list: (engines: readonly string[], signal: AbortSignal) => Promise<readonly Decision[]>;
  /** Undefined without a decision with this id. */
  readonly withdraw: (id: string, signal: AbortSignal) => Promise<KeptDecision | undefined>;
};

/** Decides in this process, with a check that finds the candidates. */
export function createLocalDecisions({
  check,
  decisions,
  engines: fleet,
}: Pick<Application, 'check' | 'decisions' | 'engines'>): DecisionSource {
  return {
    async candidates({ names, engines }, signal) {
      const report = await check({ images: [], containers: names, engines, forgiving: fleet === undefined }, signal);
      refuseUnmatched(report, 'decide about');
      return report.containers.map(({ name, engine, version: from, latestVersion: to }) => ({
        name,
        ...defined({ engine, from, to }),
        digest: decisions.candidateOf(name, engine)?.digest,
      }));
    },
    take: decisions.take,
    async list(engines) {
      const all = await decisions.list();
      // With one engine, decisions have no engine name.
      return all.filter(({ engine }) => engines.length === 0 || engine === undefined || engines.includes(engine));
    },
    withdraw: (id) => decisions.withdraw(id, 'command line'),
  };
}

/** Decides in a running service, which knows the candidates from its last check. */
export function createRemoteDecisions({ read, send }: Pick<RunningService, 'read' | 'send'>): DecisionSource {
  return {
    async candidates({ names, engines }, signal) {
      const listed = listOf(await read('containers/details', signal), 'containers');
      const containers = listed.filter((entry) => isOf(entry, engines));
      const meant = names.flatMap((name) => {
        const isMeant = namePattern(name);
        const found = containers.filter((entry) => isMeant(rawTextOf(entry, 'name')));
        if (found.length === 0) throw strange(name, engines);
        return found;
      });
      // Several names may mean one container.
      return [...new Set(meant)].map((entry) => ({
        name: rawTextOf(entry, 'name'),
        ...engineOf(entry),
        digest: digestIn(entry),
        from: rawTextOf(entry, 'version'),
        to: rawTextOf(entry, 'latest_version'),
      }));
    },
    async take({ kind, container, engine, digest, untilMs }, signal) {
      const body = { container, engine, decision: kind, digest, until: toTimestamp(untilMs) };
      const answer = await send({ method: 'POST', what: 'decisions', body }, signal);
      return kept(answer);
    },
    list: async (engines, signal) =>
      listOf(await read('decisions', signal), 'decisions')
        .filter((entry) => isOf(entry, engines))
        .flatMap((entry) => readDecision(entry)),
    withdraw: async (id, signal) =>
      kept(await send({ method: 'DELETE', what: `decisions/${encodeURIComponent(id)}` }, signal)),
  };
}

function strange(name: string, engines: readonly string[]): ServiceError {
  const where = engines.length === 0 ? '' : ` of ${engines.map((engine) => quoted(engine)).join(', ')}`;
  const message = `Cannot decide about ${quoted(name)}: no watched container${where} has this name`;
  return new ServiceError('not-found', message, { remedy: '"upkeep containers" lists the watched containers' });
}

function isOf(entry: JsonObject, engines: readonly string[]): boolean {
  return engines.length === 0 || engines.includes(rawTextOf(entry, 'engine'));
}

function digestIn(entry: JsonObject) {
  if (entry['update_available'] !== true) return undefined;
  return parseDigest(rawTextOf(entry, 'candidate_digest') || rawTextOf(entry, 'latest_digest'));
}

function kept(answer: JsonObject): KeptDecision {
  const [decision] = readDecision(answer);
  if (decision === undefined)
    throw new ServiceError('service-invalid', 'Cannot read the answer of the service: it holds no decision', {
      remedy: otherService,
    });
  // A service without a folder keeps its decisions while it runs, and applies them.
  return { ...decision, isKept: true };
}

function readDecision(entry: JsonObject): readonly Decision[] {
  const digest = parseDigest(rawTextOf(entry, 'digest'));
  const kind = rawTextOf(entry, 'decision');
  const [atMs, untilMs] = [parseTimestamp(rawTextOf(entry, 'at')), parseTimestamp(rawTextOf(entry, 'until'))];
  if (digest === undefined || atMs === undefined) return [];
  if (kind !== 'approve' && kind !== 'skip' && kind !== 'snooze') return [];
  const [id, container, by] = [rawTextOf(entry, 'id'), rawTextOf(entry, 'container'), rawTextOf(entry, 'by')];
  return [
    { id, kind, container, ...engineOf(entry), digest, tag: rawTextOf(entry, 'tag') || undefined, by, atMs, untilMs },
  ];
}
