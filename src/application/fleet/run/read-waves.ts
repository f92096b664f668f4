import { ServiceError } from '../../../domain/text/errors.ts';
import type { Log } from '../../../domain/outside/outside.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { parseWaves, patternsWithoutEngine } from '../../../domain/waves.ts';
import type { WaveOptions } from './wave-plan.ts';

/** Reads `--waves`. Throws `invalid-input`. */
export function readSteps(text: string): WaveOptions['steps'] {
  const steps = parseWaves(text);
  if (!('fault' in steps)) return steps;
  throw new ServiceError('invalid-input', `Cannot use --waves ${quoted(text)}: ${steps.fault}`, {
    remedy: 'Give patterns of engine names and increasing shares of all engines, such as canary-.*, 25%, 100%',
  });
}

/** Reads `--waves` for the given engine names. Throws `invalid-input`. Warns of patterns that match no engine. */
export function readWaves(
  { text, pauseMs }: { readonly text: string; readonly pauseMs: number },
  engines: readonly string[],
  log: Log,
): WaveOptions {
  const steps = readSteps(text);
  for (const pattern of patternsWithoutEngine(steps, engines))
    log.warn(`--waves: no engine has a name like ${quoted(pattern)}`);
  return { steps, pauseMs };
}
