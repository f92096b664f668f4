import { descriptorLimit, mostConnectionsWithin } from './descriptor-limit.ts';
import type { HttpLimits, HttpParts } from '../service/parts.ts';

/** The effective bounds. Event streams never use the last quarter of the connections. */
export function limitsOf({ limits = {} }: Pick<HttpParts, 'limits'>): HttpLimits {
  const mostConnections = limits.mostConnections ?? mostConnectionsWithin(descriptorLimit());
  const mostStreams = Math.min(10_000, Math.floor(mostConnections * 0.75));
  return { ...defaultLimits, mostStreams, ...limits, mostConnections };
}

const defaultLimits = {
  streamBufferBytes: 256 * 1024,
  heartbeatMs: 15_000,
  readinessTimeoutMs: 5000,
  graceMs: 10_000,
};
