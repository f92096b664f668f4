import http from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../../domain/outside/outside.ts';
import { startDeadline, type Deadline } from './deadline.ts';
import { createSshHost, type SshAddress, type SshEnvironment } from './ssh-session.ts';
import { usualSessions } from './ssh-session-limit.ts';

/** Longer than the pauses within a check; every session is a process of 8 MB. */
const keptIdleMs = 10_000;

/**
 * A new session costs half a second, so changes also reuse a free session; no program on the way closes it for
 * idleness. Events have their own session.
 */
export function sshAgents(address: SshAddress, clock: Clock, environment: SshEnvironment) {
  const open = createSshHost(address, environment);
  const requests = keepingAgent(open, clock);
  const events = Object.assign(new http.Agent({ keepAlive: false }), { createConnection: open });
  return { shared: requests, own: requests, events };
}

/** Keeps the usual number of sessions for reuse, and ends idle ones. */
function keepingAgent(open: () => Duplex, clock: Clock): http.Agent {
  const opened = new Set<Duplex>();
  const idle = new Map<Duplex, Deadline>();

  function endIdle(session: Duplex): void {
    idle.get(session)?.end();
    idle.delete(session);
  }

  const agent = new http.Agent({ keepAlive: true, maxFreeSockets: usualSessions });
  const reuse = agent.reuseSocket.bind(agent);
  return Object.assign(agent, {
    createConnection() {
      const session = open();
      opened.add(session);
      session.once('close', () => {
        opened.delete(session);
        endIdle(session);
      });
      return session;
    },
    keepSocketAlive(session: Duplex): boolean {
      // While long calls hold other sessions, one idle session is kept for reads.
      if (opened.size > usualSessions && idle.size > 0) return false;
      idle.set(
        session,
        startDeadline(clock, keptIdleMs, () => session.destroy()),
      );
      return true;
    },
    reuseSocket(session: Duplex, request: http.ClientRequest) {
      endIdle(session);
      reuse(session, request);
    },
  });
}
