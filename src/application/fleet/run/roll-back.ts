import { addTo } from '../../../domain/text/plain-data.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import type { Request, Session } from '../../../domain/run/session.ts';
import type { Application } from '../../application.ts';
import type { Answer } from './each-engine.ts';
import { chooseEngines } from '../member/choose-engines.ts';
import type { ReachedMember } from '../member/member.ts';
import { announceRun } from '../../events/event-log.ts';
import { concludeRun } from './conclude-run.ts';
import { partOfRun } from './run-registry.ts';
import { isNamed, type RunParts } from './runs.ts';

/** A rollback on the engines that have the named containers. */
export function createRollBack(parts: RunParts): Application['rollBack'] {
  const { members, swarms, each, registry } = parts;
  return async (names, signal, order = {}) => {
    const chosen = chooseEngines(members, order.engines);
    const request = { images: [], containers: [...names], ...order };
    const asked = [...chosen, ...(await swarms.of(chosen, signal))];
    const having = await ownersOf(names, asked, request, signal);
    const run = announceRun(parts, 'update', order.trigger);
    const begin = () => {
      run.begin();
      order.onBegin?.(run.runId);
    };
    const part = partOfRun(run.runId, registry);
    const answers = await each<Session | undefined>([...having.keys()], {
      isNamed: true,
      signal,
      work: (member) =>
        member.application.rollBack(having.get(member) ?? [], signal, { ...order, part, onBegin: begin }),
    });
    return concludeRun(answers, parts, { run, request, verb: 'roll back' });
  };

  /** Throws before any change if a name is on no engine, or on several. */
  async function ownersOf(
    names: readonly string[],
    asked: readonly ReachedMember[],
    request: Request,
    signal: AbortSignal | undefined,
  ): Promise<ReadonlyMap<ReachedMember, readonly string[]>> {
    const work = ({ application }: ReachedMember) => application.containerNames(signal);
    const lists = await each(asked, { work, isNamed: isNamed(request), signal });
    const having = new Map<ReachedMember, string[]>();
    for (const name of names) {
      const owners = ownersIn(lists.filter(({ result }) => result?.includes(name)));
      const away = [...new Set(lists.filter(({ result }) => result === undefined).map(({ run }) => run.name))];
      const [owner] = owners;
      if (owner === undefined) {
        const code = away.length === 0 ? 'not-found' : 'engine-unreachable';
        const more = away.length === 0 ? '' : `, and these cannot be asked: ${away.join(', ')}`;
        throw new ServiceError(code, `Cannot roll back ${name}: no engine has a container of this name${more}`);
      }
      if (owners.length > 1)
        throw new ServiceError(
          'invalid-input',
          `Cannot roll back ${name}: several engines have it: ${owners.map(({ run }) => run.name).join(', ')}`,
          { remedy: 'name one of them with --engine, or engine= in a request' },
        );
      addTo(having, owner.member, name);
    }
    return having;
  }
}

/** A service wins over a container of its name on the same engine. */
function ownersIn(lists: readonly Answer<readonly string[]>[]): readonly Answer<readonly string[]>[] {
  return [...new Map(lists.map((list) => [list.run.name, list])).values()];
}
