import { ServiceError } from '../../../domain/errors.ts';
import type { Log } from '../../../domain/outside/outside.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { patternsWithoutEngine } from '../../../domain/wave/assign-waves.ts';
import { parseWaves } from '../../../domain/wave/wave-grammar.ts';
import type { WaveOptions } from './wave-plan.ts';

/** Reads `--waves` for the given engine names. Throws `invalid-input`. Warns of patterns that match no engine. */
export function readWaves(
  { text, pauseMs }: { readonly text: string; readonly pauseMs: number },
  engines: readonly string[],
  log: Log,
): WaveOptions {
  const steps = parseWaves(text);
  if ('fault' in steps) throw new ServiceError('invalid-input', `Cannot use --waves ${quoted(text)}: ${steps.fault}`);
  for (const pattern of patternsWithoutEngine(steps, engines))
    log.warn(`--waves: no engine has a name like ${quoted(pattern)}`);
  return { steps, pauseMs };
}
