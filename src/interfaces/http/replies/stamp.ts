import type { Clock } from '../../../domain/outside/outside.ts';
import { toWholeSeconds } from '../../json/timestamps.ts';

/** Last fields of every JSON reply of `/v1`. */
export function stamp(clock: Clock): { readonly timestamp: string; readonly api_version: 'v1' } {
  return { timestamp: toWholeSeconds(clock.nowMs()), api_version: 'v1' };
}
