import type { Engine } from '../../../src/domain/outside/outside.ts';

/** The same engine, and how often each of its methods was called. */
export function countCalls(engine: Engine): {
  readonly engine: Engine;
  readonly calls: Partial<Record<keyof Engine, number>>;
} {
  const calls: Partial<Record<keyof Engine, number>> = {};
  const counted = new Proxy(engine, {
    get(target, name: keyof Engine) {
      const method = target[name];
      return (...args: readonly unknown[]) => {
        calls[name] = (calls[name] ?? 0) + 1;
        return Reflect.apply(method, target, args);
      };
    },
  });
  return { engine: counted, calls };
}
