import http from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../../domain/outside/outside.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import { createSshHost, type SshAddress } from './ssh.ts';
import { usualSessions } from './ssh-turns.ts';

/** Longer than the pauses within a run; every session is a process of 8 MB. */
const keptIdleMs = 10_000;

/**
 * A new session costs half a second, so changes too use one again, if there is a free one; nothing between here and
 * the engine closes it for idleness. Events have a session of their own.
 */
export function sshAgents(address: SshAddress, clock: Clock) {
  const host = createSshHost(address);
  const requests = keepingAgent(host.open, clock);
  const events = Object.assign(new http.Agent({ keepAlive: false }), { createConnection: host.open });
  return { shared: requests, own: requests, events };
}

/** Keeps the usual number of sessions for their next use, and ends one that has had none for a while. */
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
      // Beside calls that last one is kept for reads.
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
