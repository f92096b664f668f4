import { readFileSync } from 'node:fs';
import type { HttpLimits } from '../service/parts.ts';

/** The effective bounds. Event streams never use the last quarter of the connections. */
export function limitsOf(limits: Partial<HttpLimits> = {}): HttpLimits {
  const mostConnections = limits.mostConnections ?? mostConnectionsWithin(descriptorLimit());
  const mostStreams = Math.min(10_000, Math.floor(mostConnections * 0.75));
  return { ...defaultLimits, mostStreams, ...limits, mostConnections };
}

const defaultLimits = { streamBufferBytes: 256 * 1024, heartbeatMs: 15_000, readinessTimeoutMs: 5000, graceMs: 10_000 };

/**
 * The highest number of open connections that leaves enough descriptors for the engine, registries and files. Node
 * raises its limit to the permitted maximum.
 */
export function mostConnectionsWithin(descriptors: number): number {
  const reserved = Math.min(reservedDescriptors, Math.floor(descriptors / 2));
  return Math.max(fewestConnections, Math.min(mostConnections, descriptors - reserved));
}

/** Limit of open files of this process, or the usual default if the system does not report it. */
export function descriptorLimit(): number {
  try {
    // https://man7.org/linux/man-pages/man5/proc_pid_limits.5.html
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? usualLimit : Number(soft);
  } catch {
    return usualLimit;
  }
}

/** `ulimit -n` of most systems. */
const usualLimit = 1024;

/** 256 connections to an engine, some dozens to registries, and Node's own files. */
const reservedDescriptors = 512;

const fewestConnections = 16;

/** An idle connection takes about 10 kB, and there may be ten thousand event streams. */
const mostConnections = 12_000;
