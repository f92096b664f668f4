import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import type { EngineInfo } from '../../domain/outside/engine.ts';
import { createEngineAnswers } from './share-engine.ts';

const mirrorsOf = ({ hubMirrors }: Pick<EngineInfo, 'hubMirrors'>) => hubMirrors;

/** An engine that says that it has this mirror, fails, or says nothing. */
function engine(mirror: string) {
  const state = { behaviour: 'answers', isAway: false, asked: 0 };
  const info = () => {
    state.asked += 1;
    if (state.behaviour === 'hangs') return new Promise<EngineInfo>(() => {});
    if (state.behaviour === 'fails') return Promise.reject(new Error('no'));
    return Promise.resolve({ hubMirrors: [mirror] } as Partial<EngineInfo> as EngineInfo);
  };
  return { state, engine: { info }, isAway: () => state.isAway };
}

describe('createEngineAnswers()', () => {
  function scene() {
    const clock = createFakeClock();
    const [near, far] = [engine('near'), engine('far')];
    return { clock, near, far, answers: createEngineAnswers([near, far], clock) };
  }

  test('joins what all say, without doubles, and passes over who fails', async () => {
    const { clock, near, far, answers } = scene();
    near.state.behaviour = 'fails';
    expect(await answers(mirrorsOf)).toEqual(['far']);
    near.state.behaviour = 'answers';
    expect(await answers(() => ['same'])).toEqual(['same']);
    expect((await answers(mirrorsOf)).toSorted()).toEqual(['far', 'near']);
    expect([far.state.asked, clock.sleepers()]).toEqual([3, 0]);
  });

  test('what an engine said last counts at once, when it hangs now, and it is asked once at a time', async () => {
    const { clock, far, answers } = scene();
    await answers(mirrorsOf);
    far.state.behaviour = 'hangs';
    for (let times = 0; times < 3; times += 1) expect(await answers(mirrorsOf)).toEqual(['near', 'far']);
    expect([far.state.asked, clock.monotonicMs()]).toEqual([2, 0]);
  });

  test('an engine that has said nothing is waited for, five seconds at most, and not when it is away', async () => {
    const { clock, far, answers } = scene();
    far.state.behaviour = 'hangs';
    let found: readonly string[] | undefined;
    const asked = answers(mirrorsOf).then((all) => (found = all));
    await clock.advance(4_999);
    expect(found).toBeUndefined();
    await clock.advance(1);
    expect(await asked).toEqual(['near']);
    far.state.isAway = true;
    expect(await answers(mirrorsOf)).toEqual(['near']);
    expect(far.state.asked).toBe(1);
  });

  test('the wait ends with the signal', async () => {
    const { far, answers } = scene();
    far.state.behaviour = 'hangs';
    const abort = new AbortController();
    const asked = answers(mirrorsOf, abort.signal);
    abort.abort('enough');
    await expect(asked).rejects.toBe('enough');
  });
});
