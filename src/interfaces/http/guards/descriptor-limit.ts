import { readFileSync } from 'node:fs';

/**
 * How many connections may be open at once, so that descriptors are left for the engine, registries and
 * files. Node raises the limit of its process to the most it is allowed.
 */
export function mostConnectionsWithin(descriptors: number): number {
  const reserved = Math.min(reservedDescriptors, Math.floor(descriptors / 2));
  return Math.max(fewestConnections, Math.min(mostConnections, descriptors - reserved));
}

/** Limit of open files of this process; the usual default where the system does not tell. */
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

/** 256 connections to an engine, some dozens to registries, and what Node has open itself. */
const reservedDescriptors = 512;

const fewestConnections = 16;

/** An idle one takes about 10 kB; event streams may be ten thousand. */
const mostConnections = 12_000;
