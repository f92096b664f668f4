import type { HttpLimits } from './parts.ts';

export const defaultLimits: HttpLimits = {
  mostStreams: 10_000,
  streamBufferBytes: 256 * 1024,
  heartbeatMs: 15_000,
  readinessTimeoutMs: 5000,
  graceMs: 10_000,
};
